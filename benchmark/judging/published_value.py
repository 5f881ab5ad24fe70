"""The published side of a cell: what its number may stand for, and how far it lies from a mean.

* A printed deviation counts with its upper rounding bound, which widens every interval.
* A number without one takes the deviation that the paper prints for the same experiment in a table
  that the spec names (`[sd] from`). It then is a single run of that spread.
* Where the paper prints none at all, the spread is ours (`stats.spread.standard_errors`), and the
  verdict says how it depends on that.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from ..spec.model import Cell, CellKey, Paper, Table
from ..spec.printed import Printed, half_unit
from ..spec.problems import Problem
from ..spec.settings import get
from ..stats.intervals import LEVEL
from ..stats.spread import Spread, borrow, unbiased_sd

Z = NormalDist().inv_cdf(1 - LEVEL)
"""1.645: no quantile of Student's t at this level is smaller."""


@dataclass(frozen=True)
class PublishedValue:
    """The published side of a cell. `low`, `high`: bounds of what rounds to the printed value.
    `spread`: None where the paper prints none for this experiment; of one run where it is another
    table's. `note`: where the spread is from."""

    value: float
    low: float
    high: float
    spread: Spread | None = None
    note: str = ""


def published_values_of(paper: Paper, table: Table) -> Mapping[CellKey, PublishedValue]:
    """The published side of every number of a table that a spread, if printed, has runs for.
    Spreads are pooled only among cells of one table that show the same metric."""
    sides, lent = _own_sides(table), sd_sources(paper, table)
    others = {id: _own_sides(paper.table(id)) for id in {one.table for one in lent.values()}}
    for key in sides.keys() & lent.keys():
        source = lent[key]
        if (spread := others[source.table][source.key].spread) is not None:
            note = f"Table {source.table} prints ± {source.printed.sd} for the same experiment; "
            note += "that or our spread is taken for the printed run, whichever says less."
            sides[key] = replace(sides[key], spread=replace(spread, runs=1), note=note)
    return sides


def _own_sides(table: Table) -> dict[CellKey, PublishedValue]:
    sides: dict[CellKey, PublishedValue] = {}
    for metric in dict.fromkeys(cell.metric for cell in table.cells):
        printed = {
            cell.key: cell.printed
            for cell in table.cells
            if cell.metric == metric and cell.kind == "empirical" and cell.printed.value is not None
            if cell.printed.sd is None or table.sd.runs is not None
        }
        found = published_values([*printed.values()], ddof=table.sd.ddof, runs=table.sd.runs)
        sides |= dict(zip(printed, found, strict=True))
    return sides


def published_values(
    printed: Sequence[Printed], *, ddof: int | None, runs: int | None
) -> list[PublishedValue]:
    """The published sides of one table's numbers, their spreads pooled where they are alike.
    `ddof`: None where it is not said; 0 is taken, the wider interval. `runs`: None without any
    spread."""
    deviations = [
        # The largest that a printed one may stand for.
        unbiased_sd(float(one.sd + half_unit(one.sd)), ddof=ddof or 0, runs=runs)
        for one in printed
        if one.sd is not None and runs is not None
    ]
    pooled = iter(borrow(deviations, runs or 0))
    sides = []
    for one in printed:
        assert one.value is not None
        low, high = map(float, one.bounds)
        side = PublishedValue(float(one.value), low, high)
        if one.sd is not None:
            note = f"The printed spread of {one.sd} is taken as {half_unit(one.sd):f}, "
            note += "the largest that rounds to it."
            side = replace(side, spread=next(pooled), note="" if one.sd else note)
        sides.append(side)
    return sides


def sd_sources(paper: Paper, table: Table) -> Mapping[CellKey, Cell]:
    """By cell of a table, the cell whose printed spread stands for it. A table's own spreads come
    first, then those of the tables that its spec names, in order. It is the same for every
    interpretation."""
    paper = paper.as_taken or paper
    table = paper.table(table.id)
    lenders = [table] if table.sd.runs is not None else []
    lenders += map(paper.table, table.sd.sources)
    known: dict[object, list[Cell]] = {}  # by what is cheap to compare
    for cell in (one for other in lenders for one in other.cells if one.printed.sd is not None):
        known.setdefault(_measured(cell), []).append(cell)
    found = {}
    for cell in table.cells if known else ():
        is_single = cell.printed.sd is None and cell.printed.value is not None
        if cell.kind == "empirical" and cell.experiment and is_single:
            alike = known.get(_measured(cell), ())
            source = next((one for one in alike if one.experiment == cell.experiment), None)
            if source is not None:
                found[cell.key] = source
    return found


def _measured(cell: Cell) -> object:
    return cell.metric, cell.unit, cell.read, get(cell.experiment, "method")


def is_out_of_reach(margin: float, half_unit: float, published: Spread) -> bool:
    """Whether a margin can never give REPRODUCED with a printed spread. REPRODUCED asks for |d| + h
    + t * SE < margin, for a difference d and the rounding h. However many trials are made, SE is at
    least that of the printed number, and t at least 1.645."""
    return margin <= half_unit + Z * math.sqrt(published.variance_of_mean)


def narrow_margins(papers: Iterable[Paper]) -> Iterator[Problem]:
    """A warning for every table with such cells; a margin is a choice, so it is no mistake."""
    for paper, table in ((one, table) for one in papers for table in one.tables):
        sides = published_values_of(paper, table)
        cells = {
            cell.label: is_out_of_reach(margin.value, (side.high - side.low) / 2, side.spread)
            for cell in table.cells
            if (side := sides.get(cell.key)) is not None and side.spread is not None
            if (margin := table.margin_of(cell)) is not None
        }
        if narrow := [label for label, is_narrow in cells.items() if is_narrow]:
            text = table.file.read_text(encoding="utf-8").splitlines()
            yield Problem(
                table.file,
                text.index("[margin]") + 1 if "[margin]" in text else None,
                f"margin: too narrow for REPRODUCED in {len(narrow)} of {len(cells)} cells with a "
                "printed spread, at most the rounding and 1.645 standard errors of the print"
                f" (first '{narrow[0]}')",
            )
