"""Judged papers in counts, what must be said besides these, and the exit code."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ..benchmark.results import CellResult, Report, TableResult
from .layout import CLAIMS, TABLES, VERDICTS

UNPROTECTED = (
    "Not protected: these are not the trials that the profile declares. Who chooses trials after "
    "seeing results is wrong in more than 5 % of claims."
)
_SCALED = (
    "Other data or a shorter protocol: nothing trained here reproduces or refutes a published "
    "number."
)
_COMPUTED = ("EXACT", "MISPRINT?", "INCONCLUSIVE")
"""What is said of printed numbers that were computed again and compared."""
Countable = Literal["verdicts", "claims", "tables", "findings"]


def counts(reports: Iterable[Report], what: Countable) -> dict[str, int]:
    """How many cells, claims, tables or audit findings have each status, in a fixed order. A
    finding that concerns two tables counts once."""
    found = Counter[str]()
    for tables in (report.tables for report in reports):
        if what == "tables":
            found.update(table.word for table in tables)
        elif what == "claims":
            found.update(claim.word for table in tables for claim in table.claims)
        elif what == "verdicts":
            found.update(cell.verdict.word for cell in cells(tables))
        else:
            every = {one.id: one.status for table in tables for one in table.findings}
            found.update(every.values())
    order: Mapping[str, Iterable[str]] = {"verdicts": VERDICTS, "claims": CLAIMS, "tables": TABLES}
    words = order.get(what, ("inconsistent", "undecidable"))
    return {word: found[word] for word in words if word in found}


def cells(tables: Iterable[TableResult]) -> list[CellResult]:
    """The cells of some tables."""
    return [cell for table in tables for cell in table.cells]


def failed_trials(report: Report) -> tuple[str, ...]:
    """Every failed trial, such as `fedavg on digits, trial 3: diverged at round 7`."""
    return tuple(f"{run.description}, {error}" for run in report.runs for error in run.errors)


def why_not_run(tables: Iterable[TableResult]) -> list[tuple[str, int]]:
    """Why cells were not run, with how many each, the commonest first."""
    verdicts = (cell.verdict for cell in cells(tables))
    return Counter(one.reason for one in verdicts if one.word == "NOT RUN").most_common()


def of_earlier_code(edited: Sequence[str]) -> str:
    """What must be said where trials are shown that files were edited since; else nothing."""
    if not edited:
        return ""
    since = "1 file has" if len(edited) == 1 else f"{len(edited)} files have"
    return (
        f"Trials of earlier code are shown: {since} been edited since they were trained. "
        "`fedrepro run` trains them again."
    )


def caution(reports: Sequence[Report]) -> str:
    """What a reader must not get wrong, besides the answer; empty where there is nothing."""
    told = [_SCALED for one in reports if one.scaled and one.external is None]
    told += [one.external.statement for one in reports if one.external is not None]
    told += [of_earlier_code(one.edited) for one in reports]
    told += [UNPROTECTED for one in reports if not one.protected]
    return " ".join(dict.fromkeys(filter(None, told)))


def name(reports: Sequence[Report]) -> str:
    """'cpcfl, reduced' or '5 papers, reduced'."""
    profiles = ", ".join(dict.fromkeys(one.profile for one in reports))
    return f"{reports[0].paper if len(reports) == 1 else f'{len(reports)} papers'}, {profiles}"


def exit_code(reports: Sequence[Report]) -> int:
    """0 nothing discrepant, 1 something is or a trial failed, 2 a cell has no trial, 3 nothing run.
    2 is for cells of which all trials failed. Numbers that are recomputed without training are a
    result only where nothing waits for a run. Of several reports it is 2, 1 or 3 if one's is."""
    each = set(map(_code, reports))
    return next((code for code in (2, 1, 3) if code in each), 0)


def _code(report: Report) -> int:
    tables, shown = report.tables, cells(report.tables)
    if any(cell.verdict.word == "FAILED" for cell in shown):
        return 2
    fails = any(one.fails for one in shown) or any(one.fails for one in tables)
    if fails or failed_trials(report):
        return 1
    if any(cell.mean is not None for cell in shown) or any(table.panels for table in tables):
        return 0
    is_waiting = any(cell.run is not None for cell in shown)
    computed = (one for one in shown if one.kind == "analytic" and one.verdict.detail in _COMPUTED)
    return 0 if any(computed) and not is_waiting else 3
