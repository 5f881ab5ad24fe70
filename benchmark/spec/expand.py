"""Expands a valid spec: every published value becomes a cell bound to its whole experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, cast

from fedrepro.benchmark.spec.model import (
    Cell,
    Claim,
    DrawnRun,
    Experiment,
    Figure,
    Kind,
    Margin,
    Omission,
    Override,
    Paper,
    Profile,
    Readout,
    Relation,
    Table,
    Unstated,
)
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.spec.schema import (
    RawBinding,
    RawColumn,
    RawFigure,
    RawMargin,
    RawOverride,
    RawPaper,
    RawRow,
    RawTable,
    RawUnstated,
)
from fedrepro.benchmark.spec.settings import merge


def expand_paper(raw: RawPaper, tables: tuple[Table, ...], file: Path) -> Paper:
    """The paper with its expanded tables."""
    profiles = {
        name: Profile(
            name,
            profile.trials,
            _overrides(profile.overrides),
            {data_set: _overrides(changes) for data_set, changes in profile.on.items()},
            tuple(Omission(one.path, one.value, one.why) for one in profile.omit),
        )
        for name, profile in raw.profiles.items()
    }
    return Paper(
        id=raw.id,
        title=raw.title,
        authors=raw.authors,
        year=raw.year,
        tables=tables,
        profiles=profiles,
        unstated=_unstated(raw.unstated),
        file=file,
        venue=raw.venue,
    )


def expand_table(raw: RawTable, paper: RawPaper, file: Path) -> Table:
    """The table with its cells in print order, row by row."""
    defaults = merge(_plain(paper.experiment), _plain(raw.experiment))
    return Table(
        paper=paper.id,
        id=raw.table,
        title=raw.title,
        section=raw.section,
        kind=cast(Kind, raw.kind),
        metric=raw.metric,
        unit=raw.unit,
        cells=tuple(_cells(raw, paper.id, defaults)),
        claims=tuple(
            Claim(c.id, c.says, c.holds, c.where, c.note, c.vague, c.reading_of) for c in raw.claims
        ),
        margin=_margin(raw.margin),
        sd_ddof=None if raw.sd is None else raw.sd.ddof,
        sd_runs=None if raw.sd is None else raw.sd.runs,
        unstated=_unstated(raw.unstated),
        notes=tuple(raw.notes),
        figure=None if raw.figure is None else _figure(raw, raw.figure, defaults),
        file=file,
        relations=tuple(
            Relation(r.id, r.says, r.holds, tuple(r.rows), tuple(r.columns), r.where, r.note)
            for r in raw.relations
        ),
    )


Changes = Mapping[str, tuple[Override, ...]]
"""Overrides by profile."""
Bound = tuple[Experiment, Changes]
"""A cell's experiment, and what profiles change of it."""
_NOTHING: Mapping[str, Any] = {}


def _cells(raw: RawTable, paper: str, defaults: Experiment) -> Iterator[Cell]:
    settings = [_plain(column.experiment) for column in raw.columns]
    changes, by_column = _changes(raw), map(_changes, raw.columns)
    columns = list(zip(raw.columns, settings, by_column, strict=True))
    for row in raw.rows:
        own, own_changes = _plain(row.experiment), _changes(row)
        published = zip(columns, row.published or [], strict=False)
        for (column, given, given_changes), (printed, note) in published:
            all_changes = changes
            if given_changes or own_changes:
                all_changes = _joined(changes, given_changes, own_changes)
            bound = merge(defaults, given, own), all_changes
            yield _cell(raw, paper, row, column, printed, note, bound)


def _cell(
    raw: RawTable,
    paper: str,
    row: RawRow,
    column: RawColumn,
    printed: Printed,
    note: str | None,
    bound: Bound,
) -> Cell:
    kind = cast(Kind, row.kind or column.kind or raw.kind)
    skip = row.skip or column.skip
    trains = not (printed.is_dash or skip or kind == "descriptive")
    return Cell(
        paper=paper,
        table=raw.table,
        row=row.label,
        column=column.label,
        kind=kind,
        metric=row.metric or column.metric or raw.metric,
        unit=_first(row.unit, column.unit, raw.unit),
        printed=printed,
        read=_read(row, column),
        experiment=bound[0] if trains else _NOTHING,
        overrides=bound[1] if trains else _NOTHING,
        trial=_first(row.trial, column.trial),
        formula=row.formula or column.formula,
        note="; ".join(filter(None, (row.note, column.note, note))) or None,
        skip=skip,
        margin=_margin(row.margin or column.margin),
    )


def _margin(raw: RawMargin | None) -> Margin | None:
    return None if raw is None else Margin(float(raw.value), raw.reason)


def _figure(raw: RawTable, figure: RawFigure, defaults: Experiment) -> Figure:
    options = figure.model_dump(exclude={"plot"}, exclude_none=True)
    changes = _changes(raw)
    runs = []
    for row in raw.rows:
        if row.published is not None:
            continue
        columns: list[RawColumn | None] = [one for one in raw.columns if one.binds] or [None]
        for column in columns:
            bindings: tuple[RawBinding, ...] = (row,) if column is None else (column, row)
            layers = (_plain(binding.experiment) for binding in bindings)
            runs.append(
                DrawnRun(
                    label=row.label + (() if column is None else column.label),
                    experiment=merge(defaults, *layers),
                    read=_read(*reversed(bindings)),
                    overrides=_joined(changes, *map(_changes, bindings)),
                    metric=_first(*(b.metric for b in reversed(bindings)), raw.metric),
                )
            )
    return Figure(figure.plot, options, tuple(runs))


def _read(*bindings: RawBinding) -> Readout:
    return _read_at(_first(*[binding.at for binding in bindings]))


@cache
def _read_at(at: int | Literal["final", "best"] | None) -> Readout:
    return Readout() if at is None else Readout(at)


def _first(*values: Any) -> Any:
    for value in values:
        if value is not None:
            return value
    return None


def _changes(place: RawTable | RawBinding) -> Changes:
    made = {name: _overrides(profile.overrides) for name, profile in place.profiles.items()}
    return made or _NOTHING


def _joined(*layers: Changes) -> Changes:
    """By profile, the overrides of all layers in order."""
    given = list(filter(None, layers))
    if len(given) < 2:
        return given[0] if given else _NOTHING
    names = dict.fromkeys(name for layer in given for name in layer)
    joined = ((name, chain.from_iterable(layer.get(name, ()) for layer in given)) for name in names)
    return {name: tuple(overrides) for name, overrides in joined}


def _overrides(raw: list[RawOverride]) -> tuple[Override, ...]:
    return tuple(
        Override(
            path=override.path,
            value=_plain(override.value),
            why=override.why,
            divide=None if override.divide is None else float(override.divide),
            replace=_plain(override.replace),
        )
        for override in raw
    )


def _unstated(raw: list[RawUnstated]) -> tuple[Unstated, ...]:
    return tuple(Unstated(item.setting, item.taken, item.why) for item in raw)


def _plain(value: Any) -> Any:
    """Settings are numbers, not print: decimals become floats."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
