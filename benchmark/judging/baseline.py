"""Regression guard: a report against the recorded one of the same paper and profile.

Seed k is the same trial in both, so values are compared by seed. A cell's mean has left its
tolerance if it moved by more than

    max(s / sqrt(n), min(t * sd(d) / sqrt(n), t' * sqrt((s^2 + s'^2) / n)))

with d the n differences by seed, s and s' the deviations of the recorded and the new trials, and
t, t' two-sided 1 % points of Student's t with n - 1 and 2n - 2 degrees of freedom. The second part
asks whether the move could be chance, paired where pairing still helps and unpaired where an edit
has redrawn all random numbers; the first lets pass what is smaller than the recorded mean's own
standard error. With one trial the tolerance is zero.

Trials that start from one shared pre-training, as CP-CFL's do, vary less than pre-training itself:
an edit that trains another encoder can leave the tolerance by rounding alone.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from dataclasses import dataclass as plain_dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from ..errors import FedreproError
from ..results import Report
from ..stats.t_tests import t_quantile
from ..store.files import path_segment, write_whole
from ..store.fingerprint import changed
from .report_diff import (
    STRICT,
    Change,
    changed_value,
    changed_words,
    read_as,
)

Values = Sequence[float] | NDArray[np.float64]
SCHEMA = 1
LEVEL = 0.01
_EXACT = 1e-9
_GOOD = ("REPRODUCED", "COMPATIBLE", "EXACT")
_OPPOSITE = ("PARTLY", "REVERSED", "OPPOSITE HERE")


@dataclass(frozen=True, config=STRICT)
class RecordedCell:
    """A cell of a baseline. trials: by seed in order, None where one is missing."""

    trials: tuple[float | None, ...]
    verdict: str
    run: str | None

    @property
    def by_seed(self) -> dict[int, float]:
        return {seed: value for seed, value in enumerate(self.trials) if value is not None}


@dataclass(frozen=True, config=STRICT)
class Baseline:
    """What later reports are compared with.

    cells, claims: by place. sources: by run key, the SHA-256 of each file of its code.
    series: of its trials; None where an earlier version recorded it, which did not say.
    """

    paper: str
    profile: str
    on: str | None
    created: str
    commit: str | None
    device: str
    cells: dict[str, RecordedCell]
    claims: dict[str, str]
    sources: dict[str, dict[str, str]]
    schema: int
    series: int | None = None


@plain_dataclass(frozen=True)
class Movement(Change):
    """Something that differs from the baseline.

    regression: beyond tolerance, or a worse word; other movements are shown, but pass.
    tolerance: of a value's mean, in the cell's unit.
    files: edited since the baseline.
    """

    regression: bool = False
    tolerance: float | None = None
    files: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The movement in one line."""
        size = ""
        if self.difference is not None and self.tolerance is not None:
            side = "beyond" if self.regression else "within"
            size = f" ({self.difference:+.3g}, {side} the tolerance of {self.tolerance:.3g})"
        return f"{self.where}: {self.what} {self.before} -> {self.after}{size}"


def lines(paper: str, movements: Sequence[Movement], paint: Callable[[str], str]) -> Iterator[str]:
    """Lines for a terminal: what moved, last what regressed, then the edits behind them.

    Hundreds of cells may hang on the same edited files, which are therefore named once.
    """
    for movement in sorted(movements, key=lambda one: one.regression):
        word = paint("REGRESSED") if movement.regression else "moved    "
        yield f"{word} {paper} {movement.sentence}"
    edits = Counter(file for one in movements for file in one.files)
    if edits:
        files = ", ".join(f"{file} ({n})" for file, n in edits.most_common())
        yield f"{paper}: edited since the baseline, and behind how many of these: {files}"
    regressed = sum(one.regression for one in movements)
    yield f"{paper}: {regressed} regressed, {len(movements) - regressed} moved within tolerance"


def record(report: Report) -> Baseline:
    """The baseline that a report gives.

    Raises `FedreproError` for a report without a single reproduced number.
    """
    recorded = _recorded(report)
    if not any(cell.by_seed for cell in recorded.cells.values()):
        raise FedreproError("a baseline needs trained cells; this report has none")
    return recorded


def compare(baseline: Baseline, report: Report) -> list[Movement]:
    """How `report` differs from `baseline`; an empty list says that nothing moved.

    Tables and rows that either side leaves out are not compared.

    Raises `FedreproError` for a baseline of another paper, profile, data set, series or schema, or
    one that shares no trained cell with the report: a gate that measures nothing must not pass.
    """
    if baseline.schema != SCHEMA:
        raise FedreproError(
            f"the baseline has schema {baseline.schema}, this version reads {SCHEMA}"
        )
    for name in ("paper", "profile", "on", "series"):
        recorded, here = getattr(baseline, name), getattr(report, name)
        if recorded != here and (name, recorded) != ("series", None):
            raise FedreproError(f"the baseline's {name} is {recorded}, this report's is {here}")
    now = _recorded(report)
    old = {place: cell for place, cell in baseline.cells.items() if place in now.cells}
    new = {place: cell for place, cell in now.cells.items() if place in old}
    if not any(cell.by_seed for cell in old.values()):
        raise FedreproError("the baseline shares no trained cell with this report")
    movements = []
    words = ({place: cell.verdict for place, cell in side.items()} for side in (old, new))
    for one in changed_words("verdict", *words):
        lost = bool(old[one.where].by_seed) and not new[one.where].by_seed
        worse = lost or (one.before in _GOOD and one.after not in _GOOD)
        worse = worse or one.after == "DISCREPANT"
        files = _edited(baseline, now, one.where)
        movements.append(Movement(**asdict(one), regression=worse, files=files))
    for place in old:
        before, after = old[place].by_seed, new[place].by_seed
        seeds = sorted(before.keys() & after.keys())
        a, b = np.array([[side[seed] for seed in seeds] for side in (before, after)])
        if np.abs(a - b).max(initial=0.0) <= _EXACT:
            continue
        one, allowed = changed_value(place, float(a.mean()), float(b.mean())), tolerance(a, b)
        beyond = abs(one.difference or 0.0) > max(allowed, _EXACT)
        files = _edited(baseline, now, place)
        movements.append(Movement(**asdict(one), regression=beyond, tolerance=allowed, files=files))
    for one in changed_words("claim", baseline.claims, now.claims):
        if one.where in baseline.claims and one.where in now.claims:
            movements.append(Movement(**asdict(one), regression=_worse(one.before, one.after)))
    return movements


def compared(baseline: Baseline, report: Report) -> tuple[str, ...]:
    """The cells with trials and the claims that `compare` looks at, as in `Change.where`."""
    now = _recorded(report)
    cells = [place for place in now.cells if place in baseline.cells]
    trained = [p for p in cells if baseline.cells[p].by_seed or now.cells[p].by_seed]
    return (*trained, *(place for place in now.claims if place in baseline.claims))


def _worse(before: str, after: str) -> bool:
    """Whether a claim's word is worse: no longer shown, or the opposite of more is shown.

    Older baselines say REVERSED for what is now OPPOSITE HERE or PARTLY, and UNRESOLVED for what is
    NOT JUDGED.
    """
    if before == "HOLDS" or after not in _OPPOSITE:
        return before == "HOLDS"
    return before not in _OPPOSITE or (before == "PARTLY" and after != "PARTLY")


def tolerance(old: Values, new: Values) -> float:
    """How far a mean may move, from values of the same seeds; the rule is the module's."""
    n = len(old)
    if n < 2:
        return 0.0
    before, after = float(np.std(old, ddof=1)), float(np.std(new, ddof=1))
    spread = float(np.std(np.subtract(new, old), ddof=1))
    paired = t_quantile(1 - LEVEL / 2, n - 1) * spread / math.sqrt(n)
    unpaired = t_quantile(1 - LEVEL / 2, 2 * n - 2) * math.sqrt((before**2 + after**2) / n)
    return max(before / math.sqrt(n), min(paired, unpaired))


def path_for(root: Path, paper: str, profile: str, on: str | None) -> Path:
    """Where a baseline lies: `<root>/cpcfl-reduced.json`, `<root>/cpcfl-reduced-mnist.json`.

    Raises `FedreproError` for a name that would lead out of `root`.
    """
    return root / path_segment("-".join(filter(None, (paper, profile, on))) + ".json")


def save(path: Path, report: Report) -> None:
    """Writes the baseline of `report`, replacing an older one.

    Raises `FedreproError` if nothing was trained or the file cannot be written.
    """
    plain = asdict(record(report))
    try:
        write_whole(path, (json.dumps(plain, indent=1, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise FedreproError(f"cannot write the baseline {path}: {error.strerror}") from None


def load(path: Path) -> Baseline:
    """A recorded baseline.

    Raises `FedreproError` if there is none, or it is damaged.
    """
    return read_as(TypeAdapter(Baseline), path, "baseline")


def _recorded(report: Report) -> Baseline:
    cells = {
        f"{table.id}: {'|'.join(cell.row)} @ {'|'.join(cell.column)}": RecordedCell(
            cell.trials, cell.verdict.word, cell.run
        )
        for table in report.tables
        for cell in table.cells
    }
    return Baseline(
        paper=report.paper,
        profile=report.profile,
        on=report.on,
        created=report.provenance.created,
        commit=report.provenance.commit,
        device=report.provenance.device,
        cells=cells,
        claims={f"{t.id}: {claim.id}": claim.word for t in report.tables for claim in t.claims},
        sources={run.key: dict(run.source) for run in report.runs if run.source},
        schema=SCHEMA,
        series=report.series,
    )


def _edited(then: Baseline, now: Baseline, where: str) -> tuple[str, ...]:
    """Files of the cell's run that differ; none where either side has no source on record."""
    before, after = (one.sources.get(one.cells[where].run or "", {}) for one in (then, now))
    return tuple(changed(before, after)) if before and after else ()
