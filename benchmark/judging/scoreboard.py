"""A judged paper in counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..results import CellResult, Report, TableResult

UNPROTECTED = (
    "Not protected: the profile declares no interim analysis at this number of trials. Whoever "
    "chooses the number by the results is wrong in more than 5 % of claims."
)
_COMPUTED = ("EXACT", "MISPRINT?", "INCONCLUSIVE")


@dataclass(frozen=True)
class Scoreboard:
    """A report in counts, and in what must be said of it."""

    report: Report

    @cached_property
    def _cells(self) -> list[CellResult]:
        return [cell for table in self.report.tables for cell in table.cells]

    @cached_property
    def verdicts(self) -> Mapping[str, int]:
        return Counter(cell.verdict.word for cell in self._cells)

    @cached_property
    def claims(self) -> Mapping[str, int]:
        return Counter(claim.word for table in self.report.tables for claim in table.claims)

    @cached_property
    def tables(self) -> Mapping[str, int]:
        return Counter(table.word for table in self.report.tables)

    @cached_property
    def findings(self) -> Mapping[str, int]:
        """How many audit findings have each status; one that concerns two tables counts once."""
        every = (one for table in self.report.tables for one in table.findings)
        return Counter({one.id: one.status for one in every}.values())

    @cached_property
    def reasons(self) -> Mapping[str, int]:
        """Why cells were not run, with how many each, the commonest first."""
        return dict(why_not_run(self.report.tables))

    @cached_property
    def failed(self) -> tuple[str, ...]:
        """Every failed trial, such as `fedavg on digits, trial 3: diverged at round 7`."""
        runs = self.report.runs
        return tuple(f"{run.description}, {error}" for run in runs for error in run.errors)

    @cached_property
    def recomputed(self) -> int:
        """How many printed numbers were computed again and held against the print."""
        analytic = (one.verdict for one in self._cells if one.kind == "analytic")
        return sum(verdict.detail in _COMPUTED for verdict in analytic)

    @property
    def external(self) -> str:
        """What must be said of numbers that were made elsewhere, else empty."""
        return "" if self.report.external is None else self.report.external.statement

    @property
    def earlier(self) -> str:
        """What must be said of numbers that earlier code made, else empty."""
        return of_earlier_code(self.report.edited)

    @property
    def unprotected(self) -> str:
        """What must be said of a number of trials that was not declared, else empty."""
        return "" if self.report.protected else UNPROTECTED

    @cached_property
    def has_results(self) -> bool:
        """Whether anything of ours is shown."""
        drawn = any(table.panels for table in self.report.tables)
        return drawn or any(cell.mean is not None for cell in self._cells)

    @property
    def is_waiting(self) -> bool:
        """Whether a cell would show a result if its run had a finished trial."""
        return any(one.run is not None and one.mean is None for one in self._cells)

    @property
    def fails(self) -> bool:
        """Whether a cell or a table says that the print is not met."""
        cells = any(one.fails for one in self._cells)
        return cells or any(one.fails for one in self.report.tables)


def of_earlier_code(edited: Sequence[str]) -> str:
    """What must be said where trials are shown that files were edited since; else nothing."""
    if not edited:
        return ""
    since = "1 file has" if len(edited) == 1 else f"{len(edited)} files have"
    return (
        f"Trials of earlier code are shown: {since} been edited since they were trained. "
        "`fedrepro run` trains them again."
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
    if any("FAILED" in board.verdicts for board in boards):
        return 2
    if any(board.failed or board.fails for board in boards):
        return 1
    if any(board.has_results for board in boards):
        return 0
    recomputed = any(board.recomputed for board in boards)
    return 0 if recomputed and not any(board.is_waiting for board in boards) else 3
