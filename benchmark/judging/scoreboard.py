"""A judged paper in counts, small enough for memory to hold those of hundreds of papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fedrepro.benchmark.results import Report, TableResult


@dataclass(frozen=True)
class Scoreboard:
    """One paper in counts.

    verdicts, claims: how many cells and claims carry each word.
    findings: how many audit findings have each status; one that concerns two tables counts once.
    reasons: why cells were not run, with how many each, the commonest first.
    has_results: whether anything of ours is shown.
    failed: every failed trial, such as `fedavg on digits, trial 3: diverged at round 7`.
    """

    paper: str
    title: str
    profile: str
    on: str | None
    scaled: bool
    verdicts: Mapping[str, int]
    claims: Mapping[str, int]
    findings: Mapping[str, int]
    reasons: Mapping[str, int]
    has_results: bool
    failed: tuple[str, ...] = ()


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
        findings=Counter(findings.values()),
        reasons=dict(why_not_run(report.tables)),
        has_results=drawn or any(cell.mean is not None for cell in cells),
        failed=tuple(f"{run.description}, {error}" for run in report.runs for error in run.errors),
    )


def why_not_run(tables: Iterable[TableResult]) -> list[tuple[str, int]]:
    """Why cells were not run, with how many each, the commonest first."""
    verdicts = (cell.verdict for table in tables for cell in table.cells)
    return Counter(one.reason for one in verdicts if one.word == "NOT RUN").most_common()


def exit_code(boards: Sequence[Scoreboard]) -> int:
    """0 nothing discrepant, 1 something is or a trial failed, 2 a cell has no trial, 3 nothing run.

    2 is for cells whose trials all failed.
    """
    words = {word for board in boards for word in board.verdicts}
    if "ERROR" in words:
        return 2
    if "DISCREPANT" in words or any(board.failed for board in boards):
        return 1
    shown = any(board.has_results for board in boards)
    # Of cells without a result of ours, those with these words were recomputed.
    return 0 if shown or words & {"EXACT", "MISPRINT?", "INCONCLUSIVE"} else 3
