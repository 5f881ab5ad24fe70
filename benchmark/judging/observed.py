"""Printed cells with their paired trials, as columns that can be compared.

- Cells that are counted, quoted, blank or without two trials are left out.
- A table with one row is read sideways: its columns are compared.
- Columns of single printed trials are left out, since ours has one set of trials for all of them.
- Columns that read the same runs are one column, against the mean of their printed values: a
  reduced run may let one data set stand for several.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..spec.model import Cell, CellKey, Table
from ..stats.intervals import tie
from ..stats.pattern import Pattern


@dataclass(frozen=True)
class Observed:
    """A printed cell and its trials, by seed in the unit of the table.

    source: tells apart what is read (run, metric and round); cells of one source are the same
    trials. printed: the printed value, a mean where columns were joined.
    """

    cell: Cell
    trials: Mapping[int, float]
    source: Hashable
    printed: float


Column = Mapping[str, Observed]
"""The cells of a column by the label of their row."""
Joined = tuple[tuple[str, ...], ...]
"""The labels of printed columns that one column of ours stands for."""


def is_compared(cell: Cell) -> bool:
    """Whether a cell prints a number that trials can be held against."""
    is_number = cell.kind == "empirical" and cell.printed.value is not None
    return is_number and cell.skip is None and cell.trial is None


def observed(
    cells: Iterable[Cell], trials: Mapping[CellKey, Mapping[int, float]]
) -> list[Observed]:
    """The printed cells that have trials; cells with equal trials read the same runs."""
    found = []
    for cell in cells:
        own, printed = trials.get(cell.key), cell.printed.value
        if own and printed is not None:
            source = tuple((seed, round(own[seed], 6)) for seed in sorted(own))
            found.append(Observed(cell, own, source, float(printed)))
    return found


def columns_of(cells: Iterable[Observed]) -> dict[str, Column]:
    """The cells of one table and metric by column and row, each column with two rows or more."""
    kept = [one for one in cells if is_compared(one.cell) and len(one.trials) > 1]
    sideways = len({one.cell.row for one in kept}) == 1
    found: dict[str, dict[str, Observed]] = {}
    for one in kept:
        row, column = "|".join(one.cell.row), "|".join(one.cell.column)
        if sideways:
            row, column = column, row
        found.setdefault(column, {})[row] = one
    return {label: column for label, column in found.items() if len(column) > 1}


def once(columns: Iterable[tuple[str, Column]]) -> tuple[dict[str, Column], Joined]:
    """Columns by label, those joined that read the same runs, or some of an earlier column's."""
    groups: list[tuple[set[Hashable], dict[str, Column]]] = []
    for label, column in columns:
        sources = {one.source for one in column.values()}
        alike = (group for known, group in groups if len(sources) > 1 and sources <= known)
        if (group := next(alike, None)) is None:
            groups.append((sources, {label: column}))
        else:
            group[label] = column
    named = [tuple(group) for _, group in groups]
    means = {
        label[0]: _mean([*group.values()]) for label, (_, group) in zip(named, groups, strict=True)
    }
    return means, tuple(labels for labels in named if len(labels) > 1)


def _mean(group: Sequence[Column]) -> Column:
    prints: dict[Hashable, list[float]] = {}
    for column in group:
        for source, printed in {one.source: one.printed for one in column.values()}.items():
            prints.setdefault(source, []).append(printed)
    first = group[0].items()
    if len(group) == 1:
        return dict(first)
    return {row: replace(one, printed=float(np.mean(prints[one.source]))) for row, one in first}


def printed_names(tables: Iterable[Table]) -> Mapping[str | None, str]:
    """By method, how most rows of these tables call it: `CP-CFL` of `CP-CFL|SimCLR`."""
    found: dict[str | None, list[str]] = {}
    for table in tables:
        rows = {} if table.is_control else {one.row: one for one in table.cells}
        for row, one in rows.items():
            name = row[0].partition("(")[0].strip()
            found.setdefault(one.experiment.get("method"), []).append(name or row[0])
    return {method: max(labels, key=labels.count) for method, labels in found.items()}


def pattern_of(columns: Mapping[str, Column], names: Mapping[str | None, str]) -> Pattern:
    """The columns as arrays, with the seeds that all their cells have.

    names: of methods, as printed.
    """
    rows = tuple(dict.fromkeys(row for column in columns.values() for row in column))
    every = [one for column in columns.values() for one in column.values()]
    seeds = paired(every)
    shape = len(rows), len(columns)
    printed, half = np.full(shape, np.nan), np.zeros(shape)
    trials = np.full((*shape, len(seeds)), np.nan)
    methods: dict[str, str | None] = {}
    for c, column in enumerate(columns.values()):
        for row, one in column.items():
            at, value = (rows.index(row), c), one.cell.printed.value
            assert value is not None
            printed[at] = one.printed
            half[at] = max(abs(end - value) for end in one.cell.bounds)
            trials[at] = [one.trials[seed] for seed in seeds]
            method = one.cell.experiment.get("method")
            methods.setdefault(row, names.get(method, method))
    named = tuple(methods[row] for row in rows)
    return Pattern(printed, half, trials, rows, tuple(columns), named, tie_of(every))


def tie_of(cells: Sequence[Observed]) -> float:
    """The difference up to which trials of some cells of one metric are equal."""
    largest = max(abs(value) for one in cells for value in one.trials.values())
    return tie(cells[0].cell.unit, largest)


def paired(cells: Sequence[Observed]) -> list[int]:
    """The seeds that all cells have, rising."""
    return sorted(set.intersection(*(set(one.trials) for one in cells)))
