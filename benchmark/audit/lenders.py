"""Which printed spread stands for a number that is printed without one.

A paper that repeats one experiment five times in one table often prints single runs of it in
others. Its `±` then says how far such a run may lie from the mean, which our own trials cannot say.
A table's spec names the tables that lend (`[sd] from`), with the reason; which of their cells show
the same experiment, by the same metric after the same round, is found here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fedrepro.benchmark.audit.identity import ComparableValue, numbers
from fedrepro.benchmark.claims.nodes import CellKey, key_of
from fedrepro.benchmark.spec.model import Cell, Paper, Table
from fedrepro.benchmark.spec.settings import get


def lenders(paper: Paper, table: Table) -> Mapping[CellKey, Cell]:
    """By cell of a table, the cell whose printed spread stands for it.

    A table lends to itself (a row of single trials beside their mean and spread), then the tables
    that its spec names, in order. What is published does not hang on the reading that is taken.
    """
    paper = paper.as_taken or paper
    table = paper.table(table.id)
    tables = [table] if table.sd_runs is not None else []
    tables += [paper.table(id) for id in table.sd_from]
    if not tables:
        return {}
    known: dict[object, Cell] = {}
    for one in reversed(tables):
        spread = [cell for cell in one.cells if cell.printed.sd is not None]
        known |= {_quantity(value): value.cell for value in _numbers(paper, one, spread)}
    alike = {_plainly(cell) for cell in known.values()}
    single = [
        cell
        for cell in table.cells
        if cell.printed.sd is None and cell.kind == "empirical" and _plainly(cell) in alike
    ]
    return {
        key_of(value.cell): known[_quantity(value)]
        for value in _numbers(paper, table, single)
        if _quantity(value) in known
    }


def _numbers(paper: Paper, table: Table, cells: list[Cell]) -> tuple[ComparableValue, ...]:
    return numbers(replace(paper, tables=(replace(table, cells=tuple(cells)),)))


def _plainly(cell: Cell) -> object:
    """What one quantity shares at first sight; what runs share takes longer to find out."""
    data, method = get(cell.experiment, "clients.data"), get(cell.experiment, "method")
    return cell.metric, cell.unit, method, data


def _quantity(value: ComparableValue) -> object:
    """What two printed numbers share that show one quantity, whichever trial they are of."""
    return value.experiment, value.measure, value.round
