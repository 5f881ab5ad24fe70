"""The plan: which unique runs stand behind the cells of a paper under a profile."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fedrepro.benchmark.claims.bind_cells import bind, instances
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.cost_runs import CostRuns
from fedrepro.benchmark.planning.plan_run import Resolver
from fedrepro.benchmark.results import Departure
from fedrepro.benchmark.spec import names, settings
from fedrepro.benchmark.spec.model import Cell, DrawnRun, Paper, Profile, Readout, Table
from fedrepro.benchmark.spec.problems import suggestion


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell and the run that it reads.

    config: None for cells that need no training or cannot be run, `reason` then says why. read:
    the cell's reading after the profile's overrides (T = 25 may be read at round 5).
    departures: how the run differs from the published protocol; none means not scaled.
    """

    cell: Cell
    config: RunConfig | None
    reason: str | None
    read: Readout
    departures: tuple[Departure, ...]


@dataclass(frozen=True)
class PlannedDrawing:
    """A run that a figure draws without printed values; fields as in `PlannedCell`."""

    table: str
    run: DrawnRun
    config: RunConfig | None
    reason: str | None
    read: Readout
    departures: tuple[Departure, ...]


@dataclass(frozen=True)
class Plan:
    """What will be run.

    runs: unique, every run after those that it starts from. sets: what `--set` changed, by path.
    """

    paper: Paper
    profile: Profile
    on: str | None
    trials: int
    cells: tuple[PlannedCell, ...]
    runs: tuple[RunConfig, ...]
    drawings: tuple[PlannedDrawing, ...] = ()
    sets: tuple[tuple[str, Any], ...] = ()

    def seeds(self, config: RunConfig) -> tuple[int, ...]:
        """The trials of a run: fewer where every later run starts from one and the same trial.

        Costs are counted once.
        """
        if config.stage == "costs":
            return (0,)
        later = self._started_from.get(config, ())
        read = config in self.shown
        if read or not later or any(run.start_trial is None for run in later):
            return tuple(range(self.trials))
        return tuple(sorted({run.start_trial for run in later if run.start_trial is not None}))

    @cached_property
    def tables(self) -> frozenset[str]:
        """The ids of the tables and figures that are shown, wholly or in part."""
        return frozenset(
            (*(one.cell.table for one in self.cells), *(one.table for one in self.drawings))
        )

    @cached_property
    def _started_from(self) -> Mapping[RunConfig, Sequence[RunConfig]]:
        """The runs that start from a run."""
        later: dict[RunConfig, list[RunConfig]] = {}
        for run in self.runs:
            if run.start is not None:
                later.setdefault(run.start, []).append(run)
        return later

    @cached_property
    def shown(self) -> frozenset[RunConfig]:
        """The runs that a cell or a figure reads; others are only started from."""
        planned: tuple[PlannedCell | PlannedDrawing, ...] = (*self.cells, *self.drawings)
        return frozenset(one.config for one in planned if one.config is not None)

    def trials_to_run(self) -> list[tuple[RunConfig, int]]:
        """Every trial of every run, those that others start from first."""
        return [(run, seed) for run in self.runs for seed in self.seeds(run)]

    def sharing(self) -> Mapping[RunConfig, int]:
        """How many cells read each run."""
        return Counter(planned.config for planned in self.cells if planned.config is not None)


def make_plan(
    paper: Paper,
    profile: str,
    *,
    tables: Sequence[str] | None = None,
    rows: str | None = None,
    on: str | None = None,
    trials: int | None = None,
    sets: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
) -> Plan:
    """The runs that `profile` needs for some or all cells of a paper.

    tables: ids, None for all. rows: labels joined by `|`, each part a name or `*`; None for all.
    on: a data set of the profile's `on`. trials: instead of the profile's number. sets: changes by
    dotted path.

    Raises `SpecError` for a profile, table, row, data set or path that does not exist, and for a
    claim or relation that names no cell: hours of training must not end in that message.
    """
    _check_claims(paper)
    chosen = _one_of("profile", profile, paper.profiles, f"paper {paper.id}")
    if on is not None:
        _one_of("data set", on, chosen.on, f"--on under profile {profile}")
    changes = dict(sets)
    for path, value in changes.items():
        _check_set(path, value)
    resolver, costs = Resolver(chosen, on, changes), CostRuns()
    cells = tuple(
        _planned(cell, resolver, costs)
        for table in _tables(paper, tables)
        for cell in table.cells
        if rows is None or _matches(rows, cell.row)
    )
    drawings = tuple(
        _drawing(table.id, run, resolver)
        for table in _tables(paper, tables)
        for run in (table.figure.runs if table.figure is not None else ())
        if rows is None or _matches(rows, run.label)
    )
    if rows is not None and not cells and not drawings:
        raise SpecError(f"--rows {rows}: no row of these tables has that label")
    runs = tuple(_in_order([*cells, *drawings]))
    return Plan(
        paper, chosen, on, trials or chosen.trials, cells, runs, drawings, tuple(changes.items())
    )


def _planned(cell: Cell, resolver: Resolver, costs: CostRuns) -> PlannedCell:
    reason = _no_training(cell)
    try:
        counted = costs.of(cell)
        if counted is not None:
            return PlannedCell(cell, counted, None, Readout("final"), ())
        if reason is not None:
            return PlannedCell(cell, None, reason, cell.read, ())
        found = resolver.resolve(cell, cell.metric)
    except SpecError as error:
        raise SpecError(f"table {cell.table}, {cell.label}: {error}") from error
    return PlannedCell(cell, found.config, found.reason, found.read, found.departures)


def _drawing(table: str, run: DrawnRun, resolver: Resolver) -> PlannedDrawing:
    try:
        found = resolver.resolve(run, run.metric or "accuracy")
    except SpecError as error:
        raise SpecError(f"{table}, {'|'.join(run.label)}: {error}") from error
    return PlannedDrawing(table, run, found.config, found.reason, found.read, found.departures)


def _no_training(cell: Cell) -> str | None:
    """Why a cell is not an experiment, or None if it is one."""
    if cell.printed.is_dash:
        return "nothing is printed"
    if cell.skip is not None:
        return cell.skip
    if cell.kind == "descriptive":
        return "descriptive"
    if cell.kind == "analytic":
        return "analytic: recomputed without training"
    return None


def _in_order(planned: Iterable[PlannedCell | PlannedDrawing]) -> Iterator[RunConfig]:
    """Unique runs, each after the one that it starts from."""
    seen: set[RunConfig] = set()
    for one in planned:
        chain = []
        config = one.config
        while config is not None and config not in seen:
            chain.append(config)
            seen.add(config)
            config = config.start
        yield from reversed(chain)


def _tables(paper: Paper, ids: Sequence[str] | None) -> tuple[Table, ...]:
    if ids is None:
        return paper.tables
    known = {table.id: table for table in paper.tables}
    return tuple(_one_of("table", id, known, f"paper {paper.id}") for id in dict.fromkeys(ids))


def _matches(pattern: str, label: Sequence[str]) -> bool:
    parts = [part.strip() for part in pattern.split("|")]
    return len(parts) == len(label) and all(
        part in ("*", name) for part, name in zip(parts, label, strict=True)
    )


def _check_claims(paper: Paper) -> None:
    for table in paper.tables:
        for claim in table.claims:
            bind(claim, table, paper)
        for relation in table.relations:
            tuple(instances(relation, table, paper))


def _check_set(path: str, value: Any) -> None:
    if path == "at":
        return
    try:
        settings.check_key(path, value)
    except SpecError as error:
        raise SpecError(f"--set {path}: {error}") from error
    what = names.PATHS.get(path)
    if what is not None and str(value) not in names.known(what):
        hint = suggestion(str(value), names.known(what))
        raise SpecError(f"--set {path}: unknown {what} '{value}'{hint}")


def _one_of(what: str, name: str, known: Mapping[str, Any], where: str) -> Any:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known) or 'none'}"
    raise SpecError(f"{where}: unknown {what} '{name}'; {hint}")
