"""Which printed spread stands for a number that is printed without one.

A paper that repeats one experiment five times in one table often prints single runs of it in
others. Its `±` then says how far such a run may lie from the mean, which our own trials cannot say.
A table's spec names the tables that lend (`[sd] from`), with the reason; which of their cells show
the same experiment, by the same metric after the same round, is found here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..claims.nodes import CellKey, key_of
from ..spec.model import Cell, Paper, Table
from ..spec.settings import get


def sd_sources(paper: Paper, table: Table) -> Mapping[CellKey, Cell]:
    """By cell of a table, the cell whose printed spread stands for it.

    A table lends to itself (a row of single trials beside their mean and spread), then the tables
    that its spec names, in order. What is published does not hang on the reading that is taken.
    """
    paper = paper.as_taken or paper
    table = paper.table(table.id)
    tables = [table] if table.sd.runs is not None else []
    tables += [paper.table(id) for id in table.sd.sources]
    alike: dict[object, list[Cell]] = {}
    for cell in (cell for one in tables for cell in one.cells if cell.printed.sd is not None):
        alike.setdefault(_at_first_sight(cell), []).append(cell)
    found = {}
    for cell in table.cells:
        if cell.kind != "empirical" or not cell.experiment:
            continue
        if cell.printed.sd is None and cell.printed.value is not None:
            known = alike.get(_at_first_sight(cell), ())
            source = next((one for one in known if one.experiment == cell.experiment), None)
            if source is not None:
                found[key_of(cell)] = source
    return found


def _at_first_sight(cell: Cell) -> object:
    """What cells of one experiment share, but for the experiment itself."""
    return cell.metric, cell.unit, cell.read, get(cell.experiment, "method")
