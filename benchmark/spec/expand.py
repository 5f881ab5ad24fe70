"""Expands a valid spec: every published value becomes a cell bound to its whole experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from . import authors
from .layers import NOTHING, Layered, layered
from .model import (
    Cell,
    Column,
    DrawnRun,
    Experiment,
    Origin,
    Override,
    Paper,
    Profile,
    Readout,
    Row,
    Table,
)
from .settings import merge

Stated = tuple[Origin, Experiment]
"""What a part of a paper states of an experiment."""


def expand(paper: Paper) -> Paper:
    """The paper with its tables and profiles filled in."""
    profiles = {name: _profile(name, paper.profiles) for name in paper.profiles}
    tables = tuple(_table(table, paper) for table in paper.tables)
    return replace(paper, name=paper.name or paper.id, profiles=profiles, tables=tables)


def _profile(name: str, profiles: Mapping[str, Profile]) -> Profile:
    """A profile, which runs what the one does that it is like."""
    own = profiles[name]
    like = profiles[own.like or name]
    return replace(own, name=name, overrides=like.overrides, omit=like.omit, on=like.on)


def _table(table: Table, paper: Paper) -> Table:
    """The table with its cells in print order, row by row."""
    defaults = [(Origin("paper"), paper.experiment), (Origin("table"), table.experiment)]
    figure = table.figure and replace(table.figure, runs=tuple(_drawn_runs(table, defaults)))
    cells = tuple(_cells(table, paper.id, defaults))
    return replace(table, paper=paper.id, cells=cells, figure=figure)


def _cells(table: Table, paper: str, defaults: Sequence[Stated]) -> Iterator[Cell]:
    for row in table.row_entries:
        plain = cache(partial(_whole, defaults, row))  # columns that set nothing share it
        for column, published in zip(table.column_entries, row.published or (), strict=False):
            printed, notes = published.printed, (published.why, published.note)
            kind, skip = row.kind or column.kind or table.kind, row.skip or column.skip
            whole = NOTHING
            runs = not (printed.is_dash or skip or kind == "descriptive")
            if runs:
                whole = _whole(defaults, row, column) if column.experiment else plain()
            yield Cell(
                paper=paper,
                table=table.id,
                row=row.label,
                column=column.label,
                kind=kind,
                metric=row.metric or column.metric or table.metric,
                unit=_first(row.unit, column.unit, table.unit),
                printed=printed,
                read=Readout(_first(row.at, column.at, "final")),
                experiment=whole.settings,
                overrides=_changes(table, column, row) if runs else {},
                trial=_first(row.trial, column.trial),
                formula=row.formula or column.formula,
                note="; ".join(filter(None, (row.note, column.note, *notes))) or None,
                skip=skip,
                margin=row.margin or column.margin,
                origin=whole.origin,
            )


def _whole(defaults: Sequence[Stated], row: Row, column: Column | None = None) -> Layered:
    """What a paper states of an experiment, over the settings of its methods' authors."""
    layers = [*defaults, (Origin("row"), row.experiment)]
    if column is not None:
        layers.insert(-1, (Origin("column"), column.experiment))
    return layered([*authors.layers(merge(*(stated for _, stated in layers))), *layers])


def _drawn_runs(table: Table, defaults: Sequence[Stated]) -> Iterator[DrawnRun]:
    columns = [one for one in table.column_entries if one.binds] or [Column(())]
    for row in (row for row in table.row_entries if row.published is None):
        for column in columns:
            whole = _whole(defaults, row, column)
            yield DrawnRun(
                label=row.label + column.label,
                experiment=whole.settings,
                origin=whole.origin,
                read=Readout(_first(row.at, column.at, "final")),
                overrides=_changes(table, column, row),
                metric=_first(row.metric, column.metric, table.metric),
            )


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _changes(*places: Table | Column) -> Mapping[str, tuple[Override, ...]]:
    """By profile, the overrides of all places in order."""
    joined: dict[str, tuple[Override, ...]] = {}
    for place in places:
        for name, profile in place.profiles.items():
            joined[name] = joined.get(name, ()) + profile.overrides
    return joined
