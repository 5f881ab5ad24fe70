"""Do analytic cells print what their formula gives?

Formulas rest on the spec's interpretation, so a cell that prints otherwise is `undecidable`. A
formula means one thing throughout a paper. So a fit under another interpretation counts only if
that one fits more than half of the quantities that it can be tried on. Half of them is enough where
so few interpretations were tried that none was likely to fit by chance.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Set
from math import log10

from ...analytic import attempted, judge_analytic
from ...spec.model import Paper
from ..findings import Finding, finding

_MOST_LINES = 5
_CHANCE = 0.5
"""If so many interpretations fit by chance on average, one that fits says nothing by itself."""
Tried = dict[tuple[str | None, str], dict[str, bool]]
"""By formula and interpretation, the quantities that it was tried on, and whether it fits each."""


def needed(paper: Paper, tables: Collection[str]) -> Set[str]:
    """The tables that findings on `tables` rest on: those with a formula of theirs."""
    named = {
        table.id: {cell.formula for cell in table.cells if cell.formula is not None}
        for table in paper.tables
    }
    asked = {formula for id, formulas in named.items() if id in tables for formula in formulas}
    return {id for id, formulas in named.items() if not formulas.isdisjoint(asked)}


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each analytic number that can be recomputed."""
    cells = [
        cell
        for table in paper.tables
        for cell in table.cells
        if cell.formula is not None and cell.experiment and cell.printed.value is not None
    ]
    found = {cell.key: attempted(cell) for cell in cells}
    tried: Tried = defaultdict(dict)
    for cell in cells:
        for one in found[cell.key].readings:
            quantities, quantity = tried[cell.formula, one.name], f"{one.value} {cell.unit}"
            quantities[quantity] = one.fits or quantities.get(quantity, False)
    for cell in cells:
        verdict, recomputed = judge_analytic(cell), found[cell.key]
        if not verdict.working:  # nothing was recomputed
            continue
        # A summary stands for dozens of readings; reports show all of them.
        many = len(verdict.working) > _MOST_LINES
        working = verdict.working[-2:] if many else verdict.working
        off, half = verdict.difference, float(cell.printed.half_unit)
        fits = verdict.detail == "EXACT" and off is not None and abs(off) <= half
        elsewhere = ""
        fitting = [one for one in recomputed.readings if one.fits]
        if fits and fitting:
            # So many values, anywhere in one decade, would print like the cell on average.
            low, high = cell.printed.bounds
            decades = log10(high / low) if low > 0 else 0.0
            by_chance = max(recomputed.searched, len(recomputed.readings)) * decades
            hits = {one.name: [*tried[cell.formula, one.name].values()] for one in fitting}
            fits = any(
                sum(of) > len(of) / 2 or (sum(of) == len(of) / 2 and by_chance < _CHANCE)
                for of in hits.values()
            )
            told = (f"'{name}' fits {sum(of)} of {len(of)} quantities" for name, of in hits.items())
            if not fits:
                elsewhere = (
                    " It fits here, but no such interpretation fits most of the formula's numbers:"
                )
                elsewhere += f" {'; '.join(told)}."
        yield finding(
            ("formula", cell.table, *cell.row, *cell.column),
            (cell,),
            statement=f"Table {cell.table}, {cell.label}: {(cell.formula or '').replace('-', ' ')} "
            f"of the architecture and equation that the paper gives, as the spec reads them."
            f"{elsewhere}",
            published=str(cell.printed),
            computed="; ".join((verdict.reason, *working)),
            status="consistent" if fits else "undecidable",
        )
