"""What judging reads: trials, or why there are none, and what they say of planned cells.

Trials of a table that repeat another one under a new seed are counted once.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, Self

from ...methods.metrics.cluster_agreement import OF_TRAINING
from ...methods.outcome import Arrays
from ..config import RunConfig, chain
from ..external.copies import copied_seeds, distinct_runs
from ..metrics import outside
from ..planning.plan import Plan, PlannedCell
from ..results import Departure
from ..spec.model import CellKey
from ..store.store import Store, TrialRecord

NOT_STORED = "no finished trial is stored"


@dataclass(frozen=True)
class Finished:
    """A trial that is there. `edited`: files that were edited since it was made; none of the
    present code. `arrays`: reads them by name; raises `StoreError` if they are missing or
    damaged."""

    record: TrialRecord
    arrays: Callable[[], Arrays] = dict
    edited: tuple[str, ...] = ()


@dataclass(frozen=True)
class Missing:
    """A trial that is not there, why, and whether it was tried and failed."""

    why: str = NOT_STORED
    failed: bool = False


Trials = Mapping[tuple[str, int], Finished | Missing]
"""By run key and seed."""


@dataclass(frozen=True)
class CellTrials:
    """One cell's trials in its unit, by seed; None where a trial is missing.

    `missing`: why there is no value at all. `is_error`: whether that is more than not yet run.
    `incomplete`: how many trials are there, and why not all; None if all are, or none is. `failed`:
    `trial 3: diverged at round 7` for each failed trial of the run or of its start."""

    trials: Mapping[int, float | None] = field(default_factory=dict)
    missing: str | None = None
    is_error: bool = False
    incomplete: str | None = None
    failed: tuple[str, ...] = ()

    @property
    def by_seed(self) -> dict[int, float]:
        return {seed: value for seed, value in self.trials.items() if value is not None}

    @property
    def found(self) -> tuple[float, ...]:
        return tuple(self.by_seed.values())

    def without(self, copies: Container[int], told: str) -> Self:
        """Without the seeds that are copies; `told` says so."""
        kept = {seed: None if seed in copies else one for seed, one in self.trials.items()}
        incomplete = "; ".join(filter(None, (self.incomplete, told)))
        return replace(self, trials=kept, incomplete=incomplete)


@dataclass
class Evidence:
    """What is known of the cells of one plan.

    `given`: by cell, values that were made elsewhere, instead of `trials`. `declared`: how their
    runs are said to deviate from the paper. `made`: what they were run on. `uncontrolled`: why no
    claim and table is judged without the controls of its profile."""

    plan: Plan
    trials: Trials
    given: Mapping[CellKey, CellTrials] | None = None
    declared: Departure | None = None
    made: str = ""
    uncontrolled: str | None = None

    def all_of(self, config: RunConfig) -> dict[int, Finished | Missing]:
        """The trials of a run that the plan asks for, by seed."""
        seeds = self.plan.seeds(config)
        return {seed: self.trials.get((config.key, seed), Missing()) for seed in seeds}

    def finished(self, *configs: RunConfig) -> list[Finished]:
        found = (one for run in configs for one in self.all_of(run).values())
        return [one for one in found if isinstance(one, Finished)]

    def records(self, *configs: RunConfig) -> list[TrialRecord]:
        return [one.record for one in self.finished(*configs)]

    def arrays(self, config: RunConfig | None) -> Arrays:
        """What figures draw of a run, which is its first trial; none if that is not finished.
        Raises `StoreError` for arrays that cannot be read."""
        found = None if config is None else self.trials.get((config.key, 0))
        return found.arrays() if isinstance(found, Finished) else {}

    def errors(self, config: RunConfig) -> tuple[str, ...]:
        return tuple(
            f"trial {seed}: {one.why}"
            for seed, one in self.all_of(config).items()
            if isinstance(one, Missing) and one.failed
        )

    @cached_property
    def cells(self) -> Mapping[CellKey, CellTrials]:
        """The trials of every planned cell; those that repeat another one are left out."""
        found = self.given
        if found is None:
            found = {planned.cell.key: self.stored(planned) for planned in self.plan.cells}
        kept = dict(found)
        trained = [one for one in self.plan.cells if one.cell.kind == "empirical"]
        for table in self.plan.tables:
            members = [one for one in trained if one.cell.table == table]
            values = {one.cell.key: found[one.cell.key].by_seed for one in members}
            if copies := copied_seeds(runs := distinct_runs(members, values)):
                times = sorted(Counter(copies.values()).items())
                named = ", ".join(f"{count} of trial {seed}" for seed, count in times)
                told = f"copies are counted once: {named} (equal in {len(runs)} runs)"
                keys = [one.cell.key for one in members]
                kept |= {key: found[key].without(copies, told) for key in keys}
        return kept

    def departures(self, planned: PlannedCell) -> tuple[Departure, ...]:
        """How what a cell shows differs from the published protocol, its data included."""
        if self.given is not None:
            return () if self.declared is None else (self.declared,)
        found, why = [*planned.departures], "these files are not known to be the release"
        for portion, used in self._data_of(planned):
            if not used.get("is_release", False):
                here = str(used.get("note") or used.get("source") or "files not identified")
                found.append(Departure(f"data.{portion}", "the released files", here, why))
        return tuple(found)

    def notes(self, cells: Iterable[PlannedCell]) -> Iterator[str]:
        """What a reader must know of runs and data of cells, where no deviation says it."""
        cells = () if self.given is not None else tuple(cells)
        yield from dict.fromkeys(said for one in cells for said in one.cautions)
        used = (pair for one in cells for pair in self._data_of(one))
        yield from dict.fromkeys(
            f"{portion}: {facts['note']}"
            for portion, facts in used
            if facts.get("note") and facts.get("is_release", False)
        )

    def _data_of(self, planned: PlannedCell) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The data that a cell's run and those before it have used, by set and part."""
        for run in chain(planned.config):
            for record in self.records(run)[:1]:
                yield from record.provenance.get("data", {}).items()

    def stored(self, planned: PlannedCell) -> CellTrials:
        """What the trials of a cell's run say; nothing where values are given instead."""
        config, cell = planned.config, planned.cell
        if config is None:
            return CellTrials(missing=planned.reason or "no run is bound to this cell")
        scale, name = 100.0 if cell.unit == "%" else 1.0, cell.metric or ""
        values: dict[int, float | None] = dict.fromkeys(self.plan.seeds(config))
        records = self.records(config)
        for record in records:
            try:
                value = _read(record, name, planned.read) * scale
            except KeyError as error:
                return CellTrials(missing=str(error.args[0]), is_error=True)
            if (problem := outside(value, cell.metric, cell.unit)) is not None:
                return CellTrials(missing=f"trial {record.seed}: {problem}", is_error=True)
            values[record.seed] = value
        found = CellTrials(values)
        if records and len(records) == len(values):
            undefined = 0
            if name.startswith("auroc") and name.endswith("_by_client"):
                undefined = int(max(one.counts.get("undefined_auroc", 0) for one in records))
            told = f"AUROC is undefined for up to {undefined} clients, which are left out"
            return replace(found, incomplete=told if undefined else None)
        failed, whys = self._failed(config), self._why_missing(config)
        if not records:
            why = "; ".join(failed) or whys
            return replace(found, missing=why, is_error=bool(failed), failed=failed)
        why = f"failed: {'; '.join(failed)}" if failed else whys
        finished = f"{len(records)} of {len(values)} trials finished; {why}"
        return replace(found, incomplete=finished, failed=failed)

    def _failed(self, config: RunConfig) -> tuple[str, ...]:
        """The failed trials of a run, or of the nearest run before it that has some."""
        for run in chain(config):
            if errors := self.errors(run):
                before = "" if run == config else f"{run.description} failed: "
                return (before + errors[0], *errors[1:])
        return ()

    def _why_missing(self, config: RunConfig) -> str:
        found = self.all_of(config).values()
        whys = dict.fromkeys(one.why for one in found if isinstance(one, Missing))
        is_rest = list(whys) == [NOT_STORED] and any(isinstance(one, Finished) for one in found)
        return "the others are not stored" if is_rest else "; ".join(whys)


def _read(record: TrialRecord, name: str, at: int | Literal["final", "best"]) -> float:
    """A metric at a round, or a count of all training; `KeyError` for what is not reported."""
    if name in OF_TRAINING and name in record.counts:
        return record.counts[name]
    if name not in record.metrics:
        raise KeyError(f"its run does not measure '{name}'")
    return record.value(name, at)


def load_trials(
    plan: Plan, store: Store, not_run: Mapping[str, str] = {}, *, include_stale: bool = False
) -> Trials:
    """The trials that a plan may show, up to its last interim analysis.

    `not_run`: by run key, why the executor did not try a run (data that are missing).
    `include_stale`: whether trials of earlier code count where the present one has made none.
    Raises `StoreError` for a record that cannot be read."""
    drawn = [(run, 0) for run in {one.config for one in plan.drawings} if run is not None]
    whole = replace(plan, trials=plan.looks[-1], asked={}) if plan.looks else plan
    return {
        (run.key, seed): find_trial(store, run, seed, not_run, include_stale)
        for run, seed in dict.fromkeys((*whole.trials_to_run(), *drawn))
    }


def find_trial(
    store: Store, run: RunConfig, seed: int, not_run: Mapping[str, str], include_stale: bool
) -> Finished | Missing:
    """As `load_trials`; a trial that failed when last tried is missing, whatever is older."""
    record, edited = store.find(run, seed), list[str]()
    if record is None and (error := store.error(run, seed)) is not None:
        return Missing(error, failed=True)
    if record is None and include_stale and (earlier := store.earlier(run, seed)):
        record, edited = max(earlier, key=lambda one: str(one[0].provenance.get("started", "")))
    if record is not None:
        return Finished(record, partial(store.load_arrays, record), tuple(edited))
    for one in chain(run):
        if one.key in not_run:
            return Missing(not_run[one.key])
    if stale := store.stale(run, seed):
        return Missing(f"stored trials are stale, edited since: {', '.join(stale)}")
    return Missing()
