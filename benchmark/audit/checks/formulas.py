"""Do analytic cells print what their formula gives?

Formulas rest on the spec's reading of the architecture and of what is counted. Where a cell prints
otherwise, another reading may still give it, so the finding is `undecidable`, and the working shows
the reading that was taken; a fit under a reading chosen afterwards is `undecidable` too. Cells that
print symbols are left to the report.
"""

from __future__ import annotations

from collections.abc import Iterator

from fedrepro.benchmark.analytic.base import judge_analytic
from fedrepro.benchmark.audit.findings import Finding, finding
from fedrepro.benchmark.spec.model import Paper

KIND = "formula"
BY_CELL = True
_MOST_LINES = 5


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each analytic number that can be recomputed."""
    for cell in (cell for table in paper.tables for cell in table.cells):
        if cell.formula is None or not cell.experiment or cell.printed.value is None:
            continue
        verdict = judge_analytic(cell)
        if not verdict.working:  # nothing was recomputed
            continue
        # A summary stands for dozens of readings; reports show all of them.
        many = len(verdict.working) > _MOST_LINES
        working = verdict.working[-2:] if many else verdict.working
        # A fit under another reading than the stated one shows only that the print is possible.
        off, half = verdict.difference, float(cell.printed.half_unit)
        fits = off is not None and abs(off) <= half
        yield finding(
            paper,
            KIND,
            (cell.table, *cell.row, *cell.column),
            (cell,),
            statement=f"Table {cell.table}, {cell.label}: {cell.formula.replace('-', ' ')} of the "
            "architecture and equation that the paper gives, as the spec reads them.",
            published=str(cell.printed),
            computed="; ".join((verdict.reason, *working)),
            status="consistent" if verdict.word == "EXACT" and fits else "undecidable",
        )
