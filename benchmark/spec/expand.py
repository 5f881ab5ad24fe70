"""Expands a valid spec: every published value becomes a cell bound to its whole experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    RawBinding,
    RawColumn,
    RawFigure,
    RawPaper,
    RawProfile,
    RawRow,
    RawTable,
)
from .settings import merge


def expand_paper(raw: RawPaper, tables: tuple[Table, ...], file: Path) -> Paper:
    """The paper with its expanded tables."""
    return Paper(
        id=raw.id,
        title=raw.title,
        authors=raw.authors,
        year=raw.year,
        tables=tables,
        profiles={name: _profile(name, raw.profiles) for name in raw.profiles},
        unstated=tuple(raw.unstated),
        file=file,
        venue=raw.venue,
        address=raw.address,
    )


def _profile(name: str, profiles: Mapping[str, RawProfile]) -> Profile:
    profile = profiles[name]
    runs = profile if profile.like is None else profiles[profile.like]
    return Profile(
        name,
        profile.trials,
        tuple(runs.overrides),
        {data_set: tuple(changes) for data_set, changes in runs.on.items()},
        tuple(runs.omit),
        tuple(profile.looks or ()),
        profile.series,
        profile.like,
    )


def expand_table(raw: RawTable, paper: RawPaper, file: Path) -> Table:
    """The table with its cells in print order, row by row."""
    defaults = [(Origin("paper"), paper.experiment), (Origin("table"), raw.experiment)]
    return Table(
        paper=paper.id,
        id=raw.table,
        title=raw.title,
        section=raw.section,
        kind=cast(Kind, raw.kind),
        metric=raw.metric,
        unit=raw.unit,
        cells=tuple(_cells(raw, paper.id, defaults)),
        claims=tuple(raw.claims),
        margin=raw.margin,
        sd_ddof=None if raw.sd is None else raw.sd.ddof,
        sd_runs=None if raw.sd is None else raw.sd.runs,
        unstated=tuple(raw.unstated),
        notes=tuple(raw.notes),
        figure=None if raw.figure is None else _figure(raw, raw.figure, defaults),
        file=file,
        relations=tuple(raw.relations),
        sd_from=() if raw.sd is None else tuple(raw.sd.lenders),
        more_trials={
            name: MoreTrials(profile.trials, profile.why)
            for name, profile in raw.profiles.items()
            if profile.trials is not None and profile.why is not None
        },
    )


Stated = tuple[Origin, Experiment]
"""What a part of a paper states of an experiment."""

Changes = Mapping[str, tuple[Override, ...]]
"""Overrides by profile."""


def _cells(raw: RawTable, paper: str, defaults: Sequence[Stated]) -> Iterator[Cell]:
    for row in raw.rows:
        plain = cache(partial(_whole, defaults, row))  # columns that set nothing share it
        for column, (printed, note) in zip(raw.columns, row.published or [], strict=False):
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
                note="; ".join(filter(None, (row.note, column.note, note))) or None,
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
            bindings: tuple[RawBinding, ...] = (row,) if column is None else (column, row)
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


def _read(*bindings: RawBinding) -> Readout:
    return Readout(_first(*(binding.at for binding in bindings), "final"))


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _changes(*places: RawTable | RawBinding) -> Changes:
    """By profile, the overrides of all places in order."""
    joined: dict[str, tuple[Override, ...]] = {}
    for place in places:
        for name, profile in place.profiles.items():
            joined[name] = joined.get(name, ()) + tuple(profile.overrides)
    return joined
