"""What the store holds for planned cells: values by trial, departures, and why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from numpy.typing import NDArray

from ..claims.nodes import CellKey, key_of
from ..config import RunConfig
from ..planning.plan import Plan, PlannedCell
from ..planning.plan_run import Resolved
from ..results import Departure
from ..stats.samples import Sample, describe
from ..store.looks import LookBook
from ..store.record import TrialRecord


class Trials(Protocol):
    """The part of `benchmark.store.store.Store` that judging reads.

    looks: None where there is nothing on disk in which looks could be noted.
    """

    @property
    def looks(self) -> LookBook | None: ...
    def find(self, config: RunConfig, seed: int) -> TrialRecord | None: ...
    def stale(self, config: RunConfig, seed: int) -> list[str]: ...
    def error(self, config: RunConfig, seed: int) -> str | None: ...
    def load_arrays(self, record: TrialRecord) -> Mapping[str, NDArray[Any]]: ...


@dataclass(frozen=True)
class CellTrials:
    """One cell's trials in its unit, by seed; None where a trial is missing.

    missing: why there is no value at all.
    is_error: whether that is an error, and not just not yet run.
    incomplete: how many of the trials are there, and why not all; None if all are, or none is.
    failed: `trial 3: diverged at round 7` for each failed trial of the run or of its start.
    """

    values: tuple[float | None, ...] = ()
    missing: str | None = None
    is_error: bool = False
    incomplete: str | None = None
    failed: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[float, ...]:
        return tuple(value for value in self.values if value is not None)

    @property
    def by_seed(self) -> dict[int, float]:
        return {seed: value for seed, value in enumerate(self.values) if value is not None}


@dataclass
class Evidence:
    """The store's answers for one plan, each asked for once.

    not_run: by run key, why the executor did not try a run (data that are missing).
    """

    plan: Plan
    store: Trials
    not_run: Mapping[str, str] = field(default_factory=dict)
    _asked: dict[str, Mapping[int, TrialRecord | None]] = field(default_factory=dict)

    def trials(self, config: RunConfig) -> Mapping[int, TrialRecord | None]:
        """By seed, the trials of a run that the plan asks for; None where one is not finished."""
        if config.key not in self._asked:
            seeds = self.plan.seeds(config)
            self._asked[config.key] = {seed: self.store.find(config, seed) for seed in seeds}
        return self._asked[config.key]

    def record(self, config: RunConfig, seed: int) -> TrialRecord | None:
        """A finished trial, whether the plan asks for it or not, or None."""
        asked = self.trials(config)
        return asked[seed] if seed in asked else self.store.find(config, seed)

    def records(self, config: RunConfig) -> Sequence[TrialRecord]:
        """The finished trials of a run that the plan asks for, by seed."""
        return [record for record in self.trials(config).values() if record is not None]

    def errors(self, config: RunConfig) -> tuple[str, ...]:
        """`trial 3: diverged at round 7` for every trial that failed, by seed."""
        return tuple(
            f"trial {seed}: {message}"
            for seed, record in self.trials(config).items()
            if record is None and (message := self.store.error(config, seed)) is not None
        )

    @cached_property
    def cells(self) -> Mapping[CellKey, CellTrials]:
        """The trials of every planned cell."""
        return {key_of(planned.cell): self._trials(planned) for planned in self.plan.cells}

    @cached_property
    def samples(self) -> Mapping[CellKey, Sample | None]:
        """The trials of every planned cell in numbers; None where there are none."""
        return {key: describe(trials.found) for key, trials in self.cells.items()}

    def awaits(self, planned: PlannedCell) -> bool:
        """Whether a cell lacks trials, and nothing is known that forbids them."""
        own = self.cells[key_of(planned.cell)]
        lacking = own.incomplete or (own.missing and not own.is_error)
        if planned.config is None or own.failed or not lacking:
            return False
        return not any(run.key in self.not_run for run in _chain(planned.config))

    def departures(self, planned: Resolved) -> tuple[Departure, ...]:
        """How what a cell shows differs from the published protocol, its data included."""
        unreleased = (
            Departure(
                f"data.{portion}",
                "the released files",
                str(used.get("note") or used.get("source") or "files not identified"),
                "these files are not known to be the release",
            )
            for run in _chain(planned.config)
            for record in self.records(run)[:1]
            for portion, used in record.provenance.get("data", {}).items()
            if not used.get("is_release", False)
        )
        return planned.departures + tuple(unreleased)

    def _trials(self, planned: PlannedCell) -> CellTrials:
        config, cell = planned.config, planned.cell
        if config is None:
            return CellTrials(missing=planned.reason or "no run is bound to this cell")
        scale = 100.0 if cell.unit == "%" else 1.0
        values: list[float | None] = []
        for record in self.trials(config).values():
            if record is None:
                values.append(None)
                continue
            if cell.metric is None or cell.metric not in record.metrics:
                return CellTrials(missing=f"its run reports no '{cell.metric}'", is_error=True)
            try:
                values.append(record.metrics[cell.metric].read(planned.read.at) * scale)
            except KeyError as error:
                return CellTrials(missing=str(error.args[0]), is_error=True)
        lacking = values.count(None)
        if values and not lacking:
            return CellTrials(tuple(values))
        failed = self._failed(config)
        if lacking == len(values):
            why = "; ".join(failed) or self._why_not_tried(config)
            return CellTrials(tuple(values), why, is_error=bool(failed), failed=failed)
        why = f"failed: {'; '.join(failed)}" if failed else self._why_not_tried(config)
        finished = f"{len(values) - lacking} of {len(values)} trials finished; {why}"
        return CellTrials(tuple(values), incomplete=finished, failed=failed)

    def _failed(self, config: RunConfig) -> tuple[str, ...]:
        """The failed trials of a run, or of the nearest run before it that has some."""
        for run in _chain(config):
            errors = self.errors(run)
            if errors:
                before = "" if run == config else f"{run.description} failed: "
                return (before + errors[0], *errors[1:])
        return ()

    def _why_not_tried(self, config: RunConfig) -> str:
        """Why trials of a run are missing that did not fail."""
        for run in _chain(config):
            if run.key in self.not_run:
                return self.not_run[run.key]
        lacking = [seed for seed, record in self.trials(config).items() if record is None]
        edited = sorted({file for seed in lacking for file in self.store.stale(config, seed)})
        if edited:
            return f"stored trials are stale, edited since: {', '.join(edited)}"
        none = len(lacking) == len(self.trials(config))
        return "no finished trial is stored" if none else "the others are not stored"


def _chain(config: RunConfig | None) -> Iterator[RunConfig]:
    """A run, and those before it that it starts from."""
    while config is not None:
        yield config
        config = config.start
