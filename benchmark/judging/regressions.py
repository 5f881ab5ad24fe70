"""What a comparison with baselines found, for programs: `fedrepro regress --json` and its files.

`fedrepro.reports.regressions` makes JUnit XML, Markdown and a badge of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..results import Report
from .baseline import Baseline, Movement, compare, compared
from .scoreboard import scoreboard


@dataclass(frozen=True)
class Comparison:
    """One paper against its baseline.

    created, commit, device: of the baseline.
    places: every cell and claim that was compared, as in `Change.where`.
    failed: trials that failed here, a sentence each.
    """

    paper: str
    profile: str
    on: str | None
    created: str
    commit: str | None
    device: str
    places: tuple[str, ...]
    movements: tuple[Movement, ...]
    failed: tuple[str, ...]

    @property
    def regressions(self) -> tuple[Movement, ...]:
        return tuple(one for one in self.movements if one.regression)

    @property
    def passed(self) -> bool:
        return not self.regressions and not self.failed


def comparison(recorded: Baseline, report: Report) -> Comparison:
    """`report` against `recorded`.

    Raises `FedreproError` as `baseline.compare` does.
    """
    movements = compare(recorded, report)
    return Comparison(
        paper=report.paper,
        profile=report.profile,
        on=report.on,
        created=recorded.created,
        commit=recorded.commit,
        device=recorded.device,
        places=compared(recorded, report),
        movements=tuple(movements),
        failed=scoreboard(report).failed,
    )


def as_json(found: Sequence[Comparison]) -> dict[str, Any]:
    """All of it as JSON can hold it; every movement with its sentence.

    passed: whether nothing regressed and no trial failed.
    """
    return {"passed": all(one.passed for one in found), "papers": [_plain(one) for one in found]}


def _plain(one: Comparison) -> dict[str, Any]:
    return {
        "paper": one.paper,
        "profile": one.profile,
        "on": one.on,
        "baseline": {"created": one.created, "commit": one.commit, "device": one.device},
        "compared": len(one.places),
        "regressed": len(one.regressions),
        "movements": [
            {**asdict(moved), "files": list(moved.files), "sentence": moved.sentence}
            for moved in one.movements
        ],
        "failed": list(one.failed),
    }
