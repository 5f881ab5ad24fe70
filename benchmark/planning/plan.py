"""The plan: which unique runs stand behind the cells of a paper under a profile."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

from ..claims.bind_cells import bind, instances
from ..claims.nodes import Elementary
from ..config import RunConfig, Trial, chain
from ..errors import SpecError
from ..spec import names, settings
from ..spec.fields import Label
from ..spec.lines import KeyPath
from ..spec.model import AS_PUBLISHED, Cell, CellKey, Claim, Paper, Profile, Table, matches
from ..spec.problems import FileProblems, InvalidSpecError, nearest, read_text, suggestion
from ..spec.readings import under
from .resolve import PlannedCell as PlannedCell
from .resolve import Resolver, metric_of


@dataclass(frozen=True)
class Plan:
    """What will be run.

    `runs`: unique, every run after those that it starts from. `sets`: what `--set` changed, by
    path. `rows`: the pattern that chose rows, None for all. `asked`: by run key, how many trials
    are asked for where that is not `trials`. `drawings`: runs that figures draw without printed
    values. `looks`: the numbers of trials of the interim analyses, rising; none means one, of all.
    `data_dir`: where data of one's own are."""

    paper: Paper
    profile: Profile
    on: str | None
    trials: int
    cells: tuple[PlannedCell, ...]
    runs: tuple[RunConfig, ...]
    drawings: tuple[PlannedCell, ...] = ()
    sets: tuple[tuple[str, Any], ...] = ()
    rows: str | None = None
    asked: Mapping[str, int] = field(default_factory=dict)
    looks: tuple[int, ...] = ()
    data_dir: Path | None = None

    @property
    def has_other_trials(self) -> bool:
        return self.trials != self.profile.trials

    @property
    def has_other_series(self) -> bool:
        """Whether trials of another series were asked for than the profile's own."""
        return self.profile.series != self.paper.profiles[self.profile.name].series

    @property
    def is_protected(self) -> bool:
        """Whether the profile declares trials and their number, so that claims keep their 5 %."""
        return not self.has_other_series and (bool(self.looks) or not self.has_other_trials)

    def seeds(self, config: RunConfig) -> tuple[int, ...]:
        """The trials of a run: fewer where every later run starts from one and the same trial.
        Costs are counted once, and maps are made of the first trial, which figures draw."""
        is_map = config.method == "embedding" and all(one.config != config for one in self.cells)
        if config.stage == "costs" or is_map:
            return (0,)
        starts = self._start_trials.get(config, frozenset({None}))
        if config in self.shown or None in starts:
            return tuple(range(self.asked.get(config.key, self.trials)))
        return tuple(sorted(trial for trial in starts if trial is not None))

    @cached_property
    def controls(self) -> tuple[PlannedCell, ...]:
        ids = {table.id for table in self.paper.tables if table.is_control}
        return tuple(one for one in self.cells if one.cell.table in ids)

    @cached_property
    def tables(self) -> frozenset[str]:
        """The ids of the tables and figures that are shown, wholly or in part."""
        return frozenset(one.cell.table for one in (*self.cells, *self.drawings))

    @cached_property
    def shown_tables(self) -> tuple[Table, ...]:
        return tuple(one for one in self.paper.tables if one.id in self.tables)

    @cached_property
    def bound(self) -> Mapping[str, Sequence[tuple[Claim, tuple[Elementary, ...]]]]:
        """By table that is shown, its claims with the comparisons that they make."""
        return {
            table.id: [(claim, bind(claim, table, self.paper)) for claim in table.claims]
            for table in self.shown_tables
        }

    @cached_property
    def _start_trials(self) -> Mapping[RunConfig, Set[int | None]]:
        """By run that others start from: the trials that these take, None for their own."""
        trials: dict[RunConfig, set[int | None]] = {}
        for run in self.runs:
            if run.init_from is not None:
                trials.setdefault(run.init_from, set()).add(run.init_trial)
        return trials

    @cached_property
    def shown(self) -> frozenset[RunConfig]:
        planned = (*self.cells, *self.drawings)
        return frozenset(one.config for one in planned if one.config is not None)

    def as_far_as_reached(self, is_there: Callable[[RunConfig, int], bool]) -> Self:
        """The plan with as many trials of each run as the last interim analysis that it has
        reached, or the first one. Claims need unlike numbers of trials: those of an unfinished
        analysis wait in the store. What other runs start from is asked for as often as these.
        Without interim analyses the plan is as it was. `is_there`: whether a trial is finished, or
        failed: no run stops before a failed one."""
        if not self.looks:
            return self
        first = self.looks[0]
        asked = {run.key: max(reached(run, self.looks, is_there), first) for run in self.shown}
        for run in reversed(self.runs):
            trials = asked.setdefault(run.key, 1)
            if run.init_from is not None and run.init_trial is None:
                asked[run.init_from.key] = max(asked.get(run.init_from.key, 1), trials)
        return replace(self, asked=asked)

    def trials_to_run(self) -> list[Trial]:
        return [(run, seed) for run in self.runs for seed in self.seeds(run)]

    def sharing(self) -> Mapping[RunConfig, int]:
        return Counter(planned.config for planned in self.cells if planned.config is not None)

    def under(self, readings: Sequence[str]) -> "Plan":
        """The same selection with the paper under other interpretations."""
        other = make_plan(
            under(self.paper, readings),
            self.profile.name,
            tables=[table.id for table in self.shown_tables],
            rows=self.rows,
            on=self.on,
            trials=self.trials if self.has_other_trials else None,
            series=self.profile.series,
            sets=self.sets,
            data_dir=self.data_dir,
        )
        return replace(other, asked=self.asked, looks=self.looks)

    @cached_property
    def reads(self) -> Mapping[CellKey, tuple[Any, ...]]:
        """By cell, the run, the round and the metric of which its numbers are."""
        return {one.cell.key: (one.config, one.read, one.cell.metric) for one in self.cells}


def reached(
    run: RunConfig, looks: Sequence[int], is_there: Callable[[RunConfig, int], bool]
) -> int:
    """The largest of `looks` for which all trials of a run are there; 0 before the first."""
    if run.stage == "costs":
        return looks[-1] if is_there(run, 0) else 0
    trials = sum(1 for _ in takewhile(lambda seed: is_there(run, seed), range(looks[-1])))
    return max((look for look in looks if look <= trials), default=0)


def make_plan(
    paper: Paper,
    profile: str,
    *,
    tables: Sequence[str] | None = None,
    rows: str | None = None,
    on: str | None = None,
    trials: int | None = None,
    series: int | None = None,
    sets: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
    data_dir: Path | None = None,
    download: bool = False,
) -> Plan:
    """The runs that `profile` needs for some or all cells of a paper. Controls that the profile
    runs are part of every plan, whatever is selected.

    `tables`: ids, None for all. `rows`: labels joined by `|`, each part a name or `*`; None for
    all. `on`: a data set of the profile's `on`, or data of one's own (docs/own-data.md). `trials`,
    `series`: instead of the profile's. `sets`: changes by dotted path. `data_dir`, `download`:
    where data of one's own are read, and whether torchvision may fetch them.

    Raises `SpecError` for a profile, table, row, data set or path that does not exist, and for a
    series of another profile of the same runs. Also for a claim or relation that names no cell, and
    for a row's setting that no run takes: hours of training must not end in that message. Raises
    `DataError` for unreadable data of one's own."""
    chosen = _one_of("profile", profile, paper.profiles, f"--profile: paper {paper.id}")
    for table in (paper.as_taken or paper).tables:
        for at, said in idle_settings(table):
            report = FileProblems(table.file, read_text(table.file))
            report.add(at, said)
            raise InvalidSpecError(report.problems)
    paper = paper.under(chosen)
    for table in paper.tables:
        for claim in table.claims:
            bind(claim, table, paper)
        for relation in table.relations:
            tuple(instances(relation, table, paper))

    @cache  # many cells name the same
    def look(name: str) -> Any:
        from ..data.own import content  # what computes; few plans have data of one's own

        return content(name, data_dir, download)

    if on is not None and on not in chosen.on and names.is_own_data(on):
        from .own_data import put_on

        paper, on = put_on(paper, profile, look(on)), look(on).name
        chosen = paper.profiles[profile]
    elif on is not None and on not in chosen.on:
        said = f"--on under profile {profile}: unknown data set '{on}'{suggestion(on, chosen.on)}"
        why = names.problem("data set", on) or "unknown"
        own = f"data of your own are {names.OWN_DATA}"
        from ..data.base import data_folder

        if (place := Path(on)).is_absolute() or ".." in place.parts:
            why = "unknown"
            own = f"give --data-dir {place.parent} --on {place.name}{'/' * place.is_dir()}"
        elif place.is_dir() or (data_folder(data_dir) / on).is_dir():
            own = f"write {on}/ for the folder"
        raise SpecError(f"{said}; {own if why.startswith('unknown') else why}")
    if series is not None:
        chosen = _in_series(chosen, series, paper)
    changes = dict(sets)
    for path, value in changes.items():
        _check_set(path, value)
    named = (one.metric for each in paper.tables for one in (*each.cells, *each.drawn))
    # Those of another package.
    metrics = {str(one) for one in {*named} - names.metrics().keys() if names.exists("metric", one)}
    resolver = Resolver(chosen, on, changes, sorted(metrics), lambda name: str(look(name).name))
    known = {table.id: table for table in paper.tables}
    selected: Iterable[Table] = paper.tables
    if tables is not None:
        ids = dict.fromkeys((*(one.id for one in paper.tables if one.is_control), *tables))
        selected = [_one_of("table", id, known, f"paper {paper.id}") for id in ids]
    cells, drawings = (
        tuple(
            planned_cell(cell, resolver)
            for table in selected
            for cell in (table.drawn if are_drawn else table.cells)
            if rows is None
            or table.is_control
            or matches(rows, cell.parts if are_drawn else cell.row)
        )
        for are_drawn in (False, True)
    )
    controls = {one.id for one in paper.tables if one.is_control}
    if rows is not None and all(one.cell.table in controls for one in (*cells, *drawings)):
        labels = {"|".join(row) for one in selected if not one.is_control for row in one.rows}
        raise SpecError(f"--rows {rows}: no such row in these tables{suggestion(rows, labels)}")
    runs_of = {one.cell.key: one.config for one in cells if one.config is not None}
    for table, _, said in refused(paper, runs_of):
        raise SpecError(f"{table.file}, {said}")
    # Unique runs, each after the one that it starts from.
    chains = (reversed(tuple(chain(one.config))) for one in (*cells, *drawings))
    runs = tuple(dict.fromkeys(run for before in chains for run in before))
    n_trials = trials or chosen.trials
    # The declared looks up to the trials that are asked for; none if no look has that number.
    looks = tuple(n for n in chosen.looks if n <= n_trials) if n_trials in chosen.looks else ()
    return Plan(
        paper, chosen, on, n_trials, cells, runs, drawings, tuple(changes.items()), rows,
        looks=chosen.looks if trials is None else looks, data_dir=data_dir,
    )  # fmt: skip


def _in_series(profile: Profile, series: int, paper: Paper) -> Profile:
    """The profile with trials of another series, which is no other profile's."""
    for other in paper.profiles.values():
        if other.name != profile.name and (other.source, other.series) == (profile.source, series):
            said = f"--series {series} gives the trials of the profile '{other.name}'"
            raise SpecError(f"{said}, which runs the same; choose another number")
    return replace(profile, series=series)


def planned_cell(cell: Cell, resolver: Resolver) -> PlannedCell:
    """A cell with its run; raises `SpecError` for settings that are missing or refused."""
    reason = "nothing is printed" if cell.printed.is_dash else cell.skip
    if reason is None and cell.kind != "empirical":
        computed = cell.kind == "analytic"
        reason = "analytic: recomputed without training" if computed else "descriptive"
    try:
        if (counted := resolver.counting_run(cell)) is not None:
            return PlannedCell(counted, None, "final", cell=cell)
        if reason is not None:
            return PlannedCell(None, reason, cell.read, cell=cell)
        return resolver.resolve(cell, cell.metric or "accuracy")
    except SpecError as error:
        raise SpecError(f"table {cell.table}, {cell.label}: {error}") from error


def _check_set(path: str, value: Any) -> None:
    if path == "at":
        return
    if said := settings.problem(path, value):
        raise SpecError(f"--set {path}: {said}")
    what = settings.NAMED.get(path)
    if what is not None and not names.exists(what, str(value)):
        hint = suggestion(str(value), names.known(what))
        raise SpecError(f"--set {path}: unknown {what} '{value}'{hint}")


def _one_of(what: str, name: str, known: Mapping[str, Any], where: str) -> Any:
    if name in known:
        return known[name]
    raise SpecError(f"{where}: unknown {what} '{name}'{suggestion(name, known)}")


def refused(paper: Paper, runs: Mapping[CellKey, RunConfig]) -> Iterator[tuple[Table, int, str]]:
    """By table and position the controls that rest on what is judged, with the reason. A method is
    the paper's own if a row of `own` uses it and none of `baselines`. Comparisons that name no cell
    are passed over. `runs`: under one profile, of the cells that have one."""
    own: set[str] = set()
    baselines: set[str] = set()
    judged: dict[RunConfig, str] = {}
    for table in paper.tables:
        for cell in table.cells if not table.is_control else ():
            if (run := runs.get(cell.key)) is not None:
                own |= _methods(run) if _is_own(paper, cell.row) else set()
                baselines |= _methods(run) if paper.is_baseline("|".join(cell.row)) else set()
                judged.setdefault(run, f"table {table.id}, {cell.label}")
    for table in paper.tables:
        for i, claim in enumerate(table.claims if table.is_control else ()):
            with suppress(SpecError):
                bound = bind(claim, table, paper)
                for leaf, name in ((leaf, one.named(leaf)) for one in bound for leaf in one.leaves):
                    run = runs.get(leaf.key)
                    if _is_own(paper, leaf.row) or (run and _methods(run) & (own - baselines)):
                        said = f"{name} is of the paper's own method"
                    elif run in judged:
                        said = f"{name} reads the run of {judged[run]}, which it is to check"
                    else:
                        continue
                    yield table, i, f"control '{claim.id}': {said}"
                    break


def idle_settings(table: Table) -> Iterator[tuple[KeyPath, str]]:
    """By path, what a table, row or column sets and no run of its cells takes. Nothing is said
    where a run is not known, or a formula takes what it needs. Some rows name a method for readers.
    """
    published, takes = Resolver(AS_PUBLISHED), dict[tuple[Any, Label], list[frozenset[str]]]()
    for bound in bound_in(table):
        used = frozenset[str]()
        if bound.kind == "empirical":
            with suppress(SpecError):  # told where the cell stands
                used = published.resolve(bound, metric_of(bound)).used
        for place in (("rows", bound.row), ("columns", bound.column), ("experiment", ())):
            takes.setdefault(place, []).append(used)
    placed: list[tuple[KeyPath, Any]] = [(("experiment",), table)]
    placed += [(("rows", i), one) for i, one in enumerate(table.row_entries)]
    placed += [(("columns", i), one) for i, one in enumerate(table.column_entries)]
    for at, one in placed:
        found = takes.get((at[0], getattr(one, "label", ())), [])
        taken = frozenset[str]().union(*found)
        for path, _ in settings.leaves(one.experiment) if all(found) and taken else ():
            if path not in {"method", "evaluation.protocol", *taken}:
                near = nearest(path, taken, cutoff=0.0)
                what = "table" if one is table else str(at[0])[:-1]
                said = f"no run of this {what} takes it (nearest: '{near}')"
                yield (*at, *path.split(".")), f"{said}; correct it or leave it out"


def bound_in(table: Table) -> Iterator[Cell]:
    """The cells and the runs of a figure that have an experiment."""
    yield from (cell for cell in (*table.cells, *table.drawn) if cell.experiment)


def _is_own(paper: Paper, row: tuple[str, ...]) -> bool:
    return any(matches(pattern, row) for pattern in paper.own)


def _methods(run: RunConfig) -> set[str]:
    """Those that train; protocols, which may be in own rows alone, are left out."""
    return {one.method for one in chain(run) if one.stage != "measurement"}
