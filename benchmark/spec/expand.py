"""Expands a valid spec: every published value becomes a cell bound to its whole experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from . import authors
from .layers import NOTHING, Layered, layered
from .model import (
    Cell,
    DrawnRun,
    Experiment,
    Figure,
    Kind,
    MoreTrials,
    Origin,
    Override,
    Paper,
    Profile,
    Readout,
    Table,
)
from .schema import (
    Raw,
    RawColumn,
    RawFigure,
    RawPaper,
    RawProfile,
    RawRow,
    RawSd,
    RawTable,
)
from .settings import merge


def expand_paper(raw: RawPaper, tables: tuple[Table, ...], file: Path) -> Paper:
    """The paper with its expanded tables."""
    profiles = {name: _profile(name, raw.profiles) for name in raw.profiles}
    own = {**_shared(raw, Paper), "profiles": profiles, "name": raw.name or raw.id}
    return Paper(**own, tables=tables, file=file)


def _profile(name: str, profiles: Mapping[str, RawProfile]) -> Profile:
    """A profile, which runs what the one does that it is like."""
    own = profiles[name]
    return Profile(
        name,
        **{
            **dict(profiles[own.like or name]),
            "trials": own.trials,
            "looks": own.looks,
            "series": own.series,
            "like": own.like,
        },
    )


def expand_table(raw: RawTable, paper: RawPaper, file: Path) -> Table:
    """The table with its cells in print order, row by row."""
    defaults = [(Origin("paper"), paper.experiment), (Origin("table"), raw.experiment)]
    figure, sd = raw.figure, raw.sd or RawSd()
    more = {
        name: MoreTrials(one.trials, one.why)
        for name, one in raw.profiles.items()
        if one.trials and one.why
    }
    own = {
        **_shared(raw, Table),
        "figure": None if figure is None else _figure(raw, figure, defaults),
    }
    return Table(
        **own,
        paper=paper.id,
        id=raw.table,
        cells=tuple(_cells(raw, paper.id, defaults)),
        sd_ddof=sd.ddof,
        sd_runs=sd.runs,
        sd_from=sd.lenders,
        file=file,
        more_trials=more,
    )


def _shared(raw: Raw, cls: type[Paper | Table]) -> dict[str, Any]:
    """What a file and the class that is made of it both have, by the name of the field."""
    own = {one.name for one in fields(cls)}
    return {name: value for name, value in raw if name in own}


Stated = tuple[Origin, Experiment]
"""What a part of a paper states of an experiment."""

Changes = Mapping[str, tuple[Override, ...]]
"""Overrides by profile."""


def _cells(raw: RawTable, paper: str, defaults: Sequence[Stated]) -> Iterator[Cell]:
    for row in raw.rows:
        plain = cache(partial(_whole, defaults, row))  # columns that set nothing share it
        for column, published in zip(raw.columns, row.published or [], strict=False):
            printed, notes = published.printed, (published.why, published.note)
            kind = cast(Kind, row.kind or column.kind or raw.kind)
            skip = row.skip or column.skip
            whole = NOTHING
            runs = not (printed.is_dash or skip or kind == "descriptive")
            if runs:
                whole = _whole(defaults, row, column) if column.experiment else plain()
            yield Cell(
                paper=paper,
                table=raw.table,
                row=row.label,
                column=column.label,
                kind=kind,
                metric=row.metric or column.metric or raw.metric,
                unit=_first(row.unit, column.unit, raw.unit),
                printed=printed,
                read=_read(row, column),
                experiment=whole.settings,
                overrides=_changes(raw, column, row) if runs else {},
                trial=_first(row.trial, column.trial),
                formula=row.formula or column.formula,
                note="; ".join(filter(None, (row.note, column.note, *notes))) or None,
                skip=skip,
                margin=row.margin or column.margin,
                origin=whole.origin,
            )


def _whole(defaults: Sequence[Stated], row: RawRow, column: RawColumn | None = None) -> Layered:
    """What a paper states of an experiment, over the settings of its methods' authors."""
    layers = [*defaults, (Origin("row"), row.experiment)]
    if column is not None:
        layers.insert(-1, (Origin("column"), column.experiment))
    return layered([*authors.layers(merge(*(stated for _, stated in layers))), *layers])


def _figure(raw: RawTable, figure: RawFigure, defaults: Sequence[Stated]) -> Figure:
    options = figure.model_dump(exclude={"plot"}, exclude_none=True)
    runs = []
    for row in raw.rows:
        if row.published is not None:
            continue
        columns: list[RawColumn | None] = [one for one in raw.columns if one.binds] or [None]
        for column in columns:
            bindings: tuple[RawColumn, ...] = (row,) if column is None else (column, row)
            whole = _whole(defaults, row, column)
            runs.append(
                DrawnRun(
                    label=row.label + (() if column is None else column.label),
                    experiment=whole.settings,
                    origin=whole.origin,
                    read=_read(*reversed(bindings)),
                    overrides=_changes(raw, *bindings),
                    metric=_first(*(b.metric for b in reversed(bindings)), raw.metric),
                )
            )
    return Figure(figure.plot, options, tuple(runs))


def _read(*bindings: RawColumn) -> Readout:
    return Readout(_first(*(binding.at for binding in bindings), "final"))


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _changes(*places: RawTable | RawColumn) -> Changes:
    """By profile, the overrides of all places in order."""
    joined: dict[str, tuple[Override, ...]] = {}
    for place in places:
        for name, profile in place.profiles.items():
            joined[name] = joined.get(name, ()) + profile.overrides
    return joined
