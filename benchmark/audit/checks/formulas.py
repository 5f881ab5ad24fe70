"""Do analytic cells print what their formula gives?

Formulas rest on the spec's reading of the architecture and of what is counted. Where a cell prints
otherwise, another reading may still give it, so the finding is `undecidable`, and the working shows
the reading that was taken; a fit under a reading chosen afterwards is `undecidable` too. Cells that
print symbols are left to the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fedrepro.benchmark.analytic.base import judge_analytic
from fedrepro.benchmark.audit.findings import Finding, Status, finding
from fedrepro.benchmark.results import Verdict
from fedrepro.benchmark.spec.model import Cell, Paper

KIND = "formula"
BY_CELL = True
_MOST_LINES = 5
_DECIDED = ("EXACT", "MISPRINT?")


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each analytic number that can be recomputed."""
    for table in paper.tables:
        for cell in table.cells:
            if cell.formula is None or not cell.experiment or cell.printed.value is None:
                continue
            found = _cell(paper, cell)
            if found is not None:
                yield found


def _cell(paper: Paper, cell: Cell) -> Finding | None:
    verdict = judge_analytic(cell)
    if verdict.word not in _DECIDED:
        return None
    assert cell.formula is not None
    return finding(
        paper,
        KIND,
        (cell.table, *cell.row, *cell.column),
        (cell,),
        statement=f"Table {cell.table}, {cell.label}: {cell.formula.replace('-', ' ')} of the "
        "architecture and equation that the paper gives, as the spec reads them.",
        published=str(cell.printed),
        computed="; ".join((verdict.reason, *_told(verdict.working))),
        status=_status(cell, verdict),
    )


def _told(working: Sequence[str]) -> Sequence[str]:
    """The working, or its summary where dozens of readings were tried; reports show all of it."""
    return working if len(working) <= _MOST_LINES else working[-2:]


def _status(cell: Cell, verdict: Verdict) -> Status:
    """A fit under another reading than the stated one shows only that the print is possible."""
    fits = verdict.difference is not None and (
        abs(verdict.difference) <= float(cell.printed.half_unit)
    )
    return "consistent" if verdict.word == "EXACT" and fits else "undecidable"
