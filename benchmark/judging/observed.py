"""Printed cells with their paired trials, as columns that can be compared.

* Cells that are counted, quoted, blank or without two trials are left out.
* A table with one row is read sideways: its columns are compared.
* Columns of single printed trials are left out, since ours has one set of trials for all of them.
* Columns that read the same runs are one column, against the mean of their printed values: a
  reduced run may let one data set stand for several. Cells with equal trials read the same runs.
"""

from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from ..claims.nodes import Values
from ..spec.model import Cell, Table
from ..stats.intervals import tie
from ..stats.pattern import Pattern

Column = Mapping[str, Cell]
"""The cells of a column by the label of their row."""
Names = Mapping[str | None, str]
"""By method, the paper's name for it."""


def is_compared(cell: Cell) -> bool:
    """Whether a cell prints a number that trials can be compared with."""
    is_number = cell.kind == "empirical" and cell.printed.value is not None
    return is_number and cell.skip is None and cell.trial is None


def columns_of(cells: Iterable[Cell], values: Values) -> dict[str, Column]:
    """The cells of one table and metric by column and row, each column with two rows or more."""
    kept = [one for one in cells if is_compared(one) and len(values.get(one.key, ())) > 1]
    sideways = len({one.row for one in kept}) == 1
    found: dict[str, dict[str, Cell]] = {}
    for one in kept:
        row, column = "|".join(one.row), "|".join(one.column)
        if sideways:
            row, column = column, row
        found.setdefault(column, {})[row] = one
    return {label: column for label, column in found.items() if len(column) > 1}


def source_of(cell: Cell, values: Values) -> Hashable:
    """What a cell reads: cells of one source show the same trials."""
    return tuple((seed, round(value, 6)) for seed, value in sorted(values[cell.key].items()))


def joined(columns: Mapping[str, Column], values: Values) -> list[dict[str, Column]]:
    """The columns, by label, that are one: those of the same runs, or of some of the first's."""
    groups: list[tuple[set[Hashable], dict[str, Column]]] = []
    for label, column in columns.items():
        sources = {source_of(one, values) for one in column.values()}
        alike = (group for known, group in groups if len(sources) > 1 and sources <= known)
        if (group := next(alike, None)) is None:
            groups.append((sources, {label: column}))
        else:
            group[label] = column
    return [group for _, group in groups]


def _mean_prints(group: Iterable[Column], values: Values) -> dict[Hashable, float]:
    """By what is read, the mean over joined columns of what is printed for it."""
    prints: dict[Hashable, list[float]] = {}
    for column in group:
        own = {source_of(one, values): float(one.printed.value or 0) for one in column.values()}
        for source, value in own.items():
            prints.setdefault(source, []).append(value)
    return {source: float(np.mean(found)) for source, found in prints.items()}


def pattern_of(columns: Mapping[str, Column], values: Values, names: Names) -> Pattern | None:
    """Columns of one metric as arrays, joined ones once; None without any."""
    groups = joined(columns, values)
    if not groups:
        return None
    firsts = [next(iter(group.values())) for group in groups]
    rows = tuple(dict.fromkeys(row for column in firsts for row in column))
    every = [one for column in firsts for one in column.values()]
    seeds = sorted({seed for one in every for seed in values[one.key]})
    shape = len(rows), len(firsts)
    printed, half = np.full(shape, np.nan), np.zeros(shape)
    trials, methods = np.full((*shape, len(seeds)), np.nan), dict[str, str | None]()
    for c, (column, group) in enumerate(zip(firsts, groups, strict=True)):
        means = _mean_prints(group.values(), values) if len(group) > 1 else {}
        for row, one in column.items():
            at, value = (rows.index(row), c), one.printed.value
            assert value is not None
            printed[at] = means.get(source_of(one, values), float(value))
            half[at] = float(max(abs(end - value) for end in one.bounds))
            trials[at] = [values[one.key].get(seed, np.nan) for seed in seeds]
            method = one.experiment.get("method")
            methods.setdefault(row, names.get(method, method))
    return Pattern(
        printed,
        half,
        trials,
        rows,
        columns=tuple(
            f"{first} and {len(more)} more of the same runs" if more else first
            for first, *more in groups
        ),
        methods=tuple(methods[row] for row in rows),
        tie=tie(every[0].unit, float(np.nanmax(np.abs(trials)))),
        joined=tuple(tuple(group) for group in groups if len(group) > 1),
    )


def printed_names(tables: Iterable[Table]) -> Names:
    """By method, how most rows of these tables call it: `CP-CFL` of `CP-CFL|SimCLR`."""
    found: dict[str | None, list[str]] = {}
    for table in tables:
        rows = {} if table.is_control else {one.row: one for one in table.cells}
        for row, one in rows.items():
            name = row[0].partition("(")[0].strip()
            found.setdefault(one.experiment.get("method"), []).append(name or row[0])
    return {method: max(labels, key=labels.count) for method, labels in found.items()}
