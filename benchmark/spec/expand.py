"""Expands a valid spec: every published value becomes a cell bound to its whole experiment."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from . import authors
from .layers import Layered, layered
from .model import Cell, Experiment, Origin, Override, Paper, Profile, Table, TableColumn, TableRow
from .printed import Printed
from .settings import merge

Stated = tuple[Origin, Experiment]
"""What a part of a paper states of an experiment."""


def expand(paper: Paper) -> Paper:
    """The paper with its tables and profiles filled in."""
    profiles = {name: _profile(name, paper.profiles) for name in paper.profiles}
    tables = tuple(_table(table, paper) for table in paper.tables)
    return replace(paper, name=paper.name or paper.id, profiles=profiles, tables=tables)


def _profile(name: str, profiles: Mapping[str, Profile]) -> Profile:
    own = profiles[name]
    like = profiles[own.like or name]
    shared = {key: getattr(like, key) for key in ("overrides", "omit", "on", "data", "misses")}
    return replace(own, name=name, **shared)


def _table(table: Table, paper: Paper) -> Table:
    defaults = [(Origin("paper"), paper.experiment), (Origin("table"), table.experiment)]
    table = replace(table, paper=paper.id)
    figure = table.figure and replace(table.figure, runs=tuple(_drawn_runs(table, defaults)))
    return replace(table, cells=tuple(_cells(table, defaults)), figure=figure)


def _cells(table: Table, defaults: Sequence[Stated]) -> Iterator[Cell]:
    default = "empirical" if table.is_control else table.kind
    for row in table.row_entries:
        plain = cache(partial(_whole, defaults, row))  # columns that set nothing share it
        for column, published in zip(table.column_entries, row.published or (), strict=False):
            printed, kind = published.printed, row.kind or column.kind or default
            whole = None
            if not (printed.is_dash or row.skip or column.skip or kind == "descriptive"):
                whole = _whole(defaults, row, column) if column.experiment else plain()
            yield _cell(table, row, column, printed, kind, whole, published.why, published.note)


def _cell(
    table: Table,
    row: TableRow,
    column: TableColumn,
    printed: Printed,
    kind: str,
    whole: Layered | None,
    *notes: str | None,
) -> Cell:
    """A cell with what its row says, else its column, else the table; `whole` is None where it has
    no run."""
    return Cell(
        paper=table.paper,
        table=table.id,
        row=row.label,
        column=column.label,
        kind=kind,
        metric=row.metric or column.metric or table.metric,
        unit=_first(row.unit, column.unit, table.unit),
        printed=printed,
        read=_first(row.at, column.at, "final"),
        experiment={} if whole is None else whole.settings,
        overrides={} if whole is None else _changes(table, column, row),
        trial=_first(row.trial, column.trial),
        formula=row.formula or column.formula,
        note="; ".join(filter(None, (row.note, column.note, *notes))) or None,
        skip=row.skip or column.skip,
        margin=row.margin or column.margin,
        origin={} if whole is None else whole.origin,
        omitted={
            name: profile.omit
            for place in (table, column, row)
            for name, profile in place.profiles.items()
            if profile.omit
        },
    )


def _whole(defaults: Sequence[Stated], row: TableRow, column: TableColumn | None = None) -> Layered:
    """What a paper states of an experiment, over the settings of its methods' authors."""
    own = [] if column is None else [(Origin("column"), column.experiment)]
    layers = [*defaults, *own, (Origin("row"), row.experiment)]
    return layered([*authors.layers(merge(*(stated for _, stated in layers))), *layers])


def _drawn_runs(table: Table, defaults: Sequence[Stated]) -> Iterator[Cell]:
    columns = [one for one in table.column_entries if one.binds] or [TableColumn(())]
    for row in (row for row in table.row_entries if row.published is None):
        for column in columns:
            yield _cell(table, row, column, Printed(""), "empirical", _whole(defaults, row, column))


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _changes(*places: Table | TableColumn) -> Mapping[str, tuple[Override, ...]]:
    """By profile, the overrides of all places in order."""
    joined: dict[str, tuple[Override, ...]] = defaultdict(tuple)
    for place in places:
        for name, profile in place.profiles.items():
            joined[name] += profile.overrides
    return dict(joined)
