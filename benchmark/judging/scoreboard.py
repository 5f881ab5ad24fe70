"""A judged paper in counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..results import Report, TableResult
from .first_lines import FirstLines

UNPROTECTED = (
    "Not protected: the profile declares no look at this number of trials, and who chooses it by "
    "what was seen is wrong in more than 5 % of claims."
)
_COMPUTED = ("EXACT", "MISPRINT?", "INCONCLUSIVE")


@dataclass(frozen=True)
class Scoreboard:
    """One paper in counts.

    verdicts, claims, tables: how many cells, claims and tables carry each word.
    findings: how many audit findings have each status; one that concerns two tables counts once.
    reasons: why cells were not run, with how many each, the commonest first.
    has_results: whether anything of ours is shown.
    recomputed: how many printed numbers were computed again and held against the print.
    discrepant: how many cells and tables at the published protocol say that the print is not met.
    first: the first lines of the report.
    waiting: how many cells would show a result if their run had a finished trial.
    external: what must be said of numbers that were made elsewhere, empty where fedrepro made them.
    earlier: what must be said of numbers that earlier code made, empty where there are none.
    unprotected: what must be said of a number of trials that was not declared, else empty.
    failed: every failed trial, such as `fedavg on digits, trial 3: diverged at round 7`.
    """

    paper: str
    title: str
    profile: str
    on: str | None
    scaled: bool
    verdicts: Mapping[str, int]
    claims: Mapping[str, int]
    tables: Mapping[str, int]
    findings: Mapping[str, int]
    reasons: Mapping[str, int]
    has_results: bool
    failed: tuple[str, ...] = ()
    recomputed: int = 0
    discrepant: int = 0
    first: FirstLines = field(default_factory=FirstLines)
    waiting: int = 0
    external: str = ""
    earlier: str = ""
    unprotected: str = ""


def scoreboard(report: Report) -> Scoreboard:
    """The counts of a judged paper."""
    cells = [cell for table in report.tables for cell in table.cells]
    findings = {one.id: one.status for table in report.tables for one in table.findings}
    drawn = any(table.panels for table in report.tables)
    return Scoreboard(
        paper=report.paper,
        title=report.title,
        profile=report.profile,
        on=report.on,
        scaled=report.scaled,
        verdicts=report.count_verdicts(),
        claims=report.count_claims(),
        tables=Counter(one.word for one in report.tables),
        discrepant=sum(one.fails for one in cells) + sum(one.fails for one in report.tables),
        first=report.first,
        findings=Counter(findings.values()),
        reasons=dict(why_not_run(report.tables)),
        has_results=drawn or any(cell.mean is not None for cell in cells),
        failed=tuple(f"{run.description}, {error}" for run in report.runs for error in run.errors),
        recomputed=sum(one.kind == "analytic" and one.verdict.detail in _COMPUTED for one in cells),
        waiting=sum(one.run is not None and one.mean is None for one in cells),
        external="" if report.external is None else report.external.statement,
        earlier=of_earlier_code(report.edited),
        unprotected="" if report.protected else UNPROTECTED,
    )


def of_earlier_code(edited: Sequence[str]) -> str:
    """What must be said where trials are shown that files were edited since; else nothing."""
    if not edited:
        return ""
    since = "1 file has" if len(edited) == 1 else f"{len(edited)} files have"
    return (
        f"Trials of earlier code are shown: {since} been edited since on which they depend. "
        "Running it again makes them anew."
    )


def why_not_run(tables: Iterable[TableResult]) -> list[tuple[str, int]]:
    """Why cells were not run, with how many each, the commonest first."""
    verdicts = (cell.verdict for table in tables for cell in table.cells)
    return Counter(one.reason for one in verdicts if one.word == "NOT RUN").most_common()


def exit_code(boards: Sequence[Scoreboard]) -> int:
    """0 nothing discrepant, 1 something is or a trial failed, 2 a cell has no trial, 3 nothing run.

    2 is for cells whose trials all failed. Numbers that are recomputed without training are a
    result only where nothing waits for a run.
    """
    words = {word for board in boards for word in board.verdicts}
    if "FAILED" in words:
        return 2
    if any(board.failed or board.discrepant for board in boards):
        return 1
    if any(board.has_results for board in boards):
        return 0
    recomputed = any(board.recomputed for board in boards)
    return 0 if recomputed and not any(board.waiting for board in boards) else 3
