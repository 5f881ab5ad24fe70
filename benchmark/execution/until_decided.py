"""Trains in steps to the next declared look, and only what claims need that are still open.

After each step the claims are judged, which is a look. A run that only decided claims need is
stopped; both sides of an open comparison are trained, paired by seed. What was trained lies in the
store, so that the next call goes on from there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..claims.bind_cells import bind
from ..claims.compare import is_scaled_size
from ..claims.nodes import CellKey, Elementary, key_of
from ..claims.printed import support
from ..config import RunConfig
from ..planning.looks_reached import (
    as_far_as_reached,
    looks_at,
    reached,
    with_starts,
)
from ..planning.next_trials import (
    UNKNOWN,
    Name,
    OpenClaim,
    chance_of_decision,
    worth_most,
)
from ..planning.plan import Plan, PlannedCell
from ..planning.summary import Trial, duration
from ..results import ClaimResult, Report
from ..store.record import TrialRecord
from ..store.store import Store
from .run import Execution

_UNDECIDED = ("UNRESOLVED", "NOT JUDGED", "NOT RUN")
ClaimName = tuple[str, str]
"""Table and id."""


@dataclass
class Budget:
    """Wall seconds from now on; infinite where none are given."""

    seconds: float = math.inf
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def left(self) -> float:
        return self._began + self.seconds - self.clock()

    def allows(self, seconds: float) -> bool:
        """Whether a trial that takes so long would end in time."""
        return seconds <= self.left


@dataclass(frozen=True)
class Means:
    """What the steps are made with.

    judge: the report of a plan, which notes its looks.
    train: trains trials in order, as far as the budget goes.
    seconds: gives, from what is stored by now, the estimated seconds of a trial of a run.
    say: takes one line on each step.
    is_current: whether a stored trial is one of the data that are there now.
    """

    judge: Callable[[Plan], Report]
    train: Callable[[Sequence[Trial]], Execution]
    seconds: Callable[[], Callable[[RunConfig], float]]
    say: Callable[[str], None] = lambda line: None
    is_current: Callable[[RunConfig, TrialRecord], bool] = lambda run, record: True


@dataclass
class UntilDecided:
    """The claims of a plan on the way to being decided.

    looks: with how many trials they are looked at, rising.
    done: what all steps came to.
    """

    plan: Plan
    store: Store
    looks: tuple[int, ...]
    means: Means
    budget: Budget = field(default_factory=Budget)
    done: Execution = field(default_factory=Execution)
    _stored: set[Name] = field(default_factory=set)

    def run(self) -> Plan:
        """Trains until nothing is open or the budget is spent; the plan as far as it came."""
        self.done.reused = sum(
            self._is_there(run, k)
            for run in self.plan.runs
            for k in range(looks_at(self.plan, run, self.looks)[-1])
        )
        while True:
            self.__dict__.pop("now", None)
            found, trials = self.next_step()
            self.means.say(self._line(found, len(trials)))
            if not trials:
                break
            before = len(self._stored)
            self._add(self.means.train(trials))
            if all(self._is_there(*trial) or self._lost(trial) for trial in trials):
                continue
            self.means.say(f"the budget is spent; {len(self._stored) - before} trials are kept")
            break
        return as_far_as_reached(self.plan, self.looks, self._tried)

    def next_step(self) -> tuple[list[OpenClaim], list[Trial]]:
        """The claims that are open, and the trials that are worth most for them."""
        found = self.open_claims()
        if not found or self.budget.left <= 0:
            return found, []
        return found, worth_most(found, self.means.seconds())

    def open_claims(self) -> list[OpenClaim]:
        """The claims that more trials may decide, in the order of the paper."""
        found = []
        for name, runs in self.runs.items():
            one = self._open(name, runs)
            if one is not None:
                found.append(one)
        return found

    @cached_property
    def runs(self) -> Mapping[ClaimName, tuple[RunConfig, ...]]:
        """By claim the runs that its cells read, of all claims that this plan can decide."""
        planned, found = self._planned, dict[ClaimName, tuple[RunConfig, ...]]()
        for name, bound in self._bound.items():
            cells = [planned.get(leaf.key) for one in bound for leaf in one.leaves]
            configs = [one.config for one in cells if one is not None and one.config]
            able = all(
                one is not None and (one.config is not None or one.cell.kind == "analytic")
                for one in cells
            )
            if able and configs and name not in self.sizes:
                found[name] = tuple(dict.fromkeys(configs))
        return found

    @cached_property
    def sizes(self) -> frozenset[ClaimName]:
        """The claims of a stated size on scaled runs: no number of trials would judge them."""
        scaled = {key for key, one in self._planned.items() if one.departures}
        return frozenset(
            name
            for name, bound in self._bound.items()
            if any(is_scaled_size(one, scaled) for one in bound)
        )

    @cached_property
    def _planned(self) -> Mapping[CellKey, PlannedCell]:
        return {key_of(one.cell): one for one in self.plan.cells}

    @cached_property
    def supported(self) -> frozenset[ClaimName]:
        """The claims that the printed numbers bear out."""
        return frozenset(n for n, bound in self._bound.items() if support(bound)[0] == "supported")

    @cached_property
    def _bound(self) -> Mapping[ClaimName, tuple[Elementary, ...]]:
        """The comparisons of each claim of the plan's tables."""
        return {
            (table.id, claim.id): bind(claim, table, self.plan.paper)
            for table in self.plan.paper.tables
            if table.id in self.plan.tables
            for claim in table.claims
        }

    @cached_property
    def now(self) -> Mapping[ClaimName, ClaimResult]:
        """The claims as they are judged now; nothing is judged before a first look."""
        if not any(map(self._reached, self.runs.values())):
            return {}
        report = self.means.judge(as_far_as_reached(self.plan, self.looks, self._is_there))
        return {(table.id, one.id): one for table in report.tables for one in table.claims}

    def _open(self, name: ClaimName, runs: Sequence[RunConfig]) -> OpenClaim | None:
        n = self._reached(runs)
        looks = self._looks(runs)
        later = next((look for look in looks if look > n), None)
        if later is None:
            return None
        chance = UNKNOWN
        if n > 0:
            result = self.now.get(name)
            if result is None or result.word != "UNRESOLVED":
                return None
            if result.p is None:
                return None  # what was not tested is not decided by more trials
            declared = result.declared or max(looks)
            if n >= declared:
                return None  # a later look has no share of the level
            chance = chance_of_decision(result, n, min(later, declared), declared)
        trials = tuple(self._lacking(runs, later))
        if any(map(self._lost, trials)):
            return None
        return OpenClaim(*name, later, trials, chance, name in self.supported)

    def _reached(self, runs: Sequence[RunConfig]) -> int:
        return min(reached(run, self._looks(runs), self._is_there) for run in runs)

    def _looks(self, runs: Sequence[RunConfig]) -> Sequence[int]:
        """The looks at a claim: those of the run that has the fewest trials; costs have one."""
        trained = [run for run in runs if run.stage != "costs"]
        return min(
            (looks_at(self.plan, run, self.looks) for run in trained),
            key=lambda looks: looks[-1],
            default=self.looks,
        )

    def _lacking(self, runs: Sequence[RunConfig], look: int) -> Iterator[Trial]:
        """Seed by seed the trials of all runs, so that they are paired wherever training ends."""
        for seed in range(look):
            for run in runs:
                if run.stage != "costs" or seed == 0:
                    for trial in with_starts(run, seed):
                        if not self._is_there(*trial):
                            yield trial

    def _is_there(self, run: RunConfig, seed: int) -> bool:
        name = run.key, seed
        if name not in self._stored:
            record = self.store.find(run, seed)
            if record is not None and self.means.is_current(run, record):
                self._stored.add(name)
        return name in self._stored

    def _lost(self, trial: Trial) -> bool:
        """Whether a trial failed in this session, or cannot be tried for want of data."""
        run, seed = trial
        return (run.key, seed) in self.done.errors or run.key in self.done.not_run

    def _tried(self, run: RunConfig, seed: int) -> bool:
        return self._is_there(run, seed) or self.store.error(run, seed) is not None

    def _add(self, step: Execution) -> None:
        self.done.trained += step.trained
        self.done.wall_s += step.wall_s
        self.done.not_run |= step.not_run
        self.done.errors |= step.errors

    def _line(self, found: Sequence[OpenClaim], n_trials: int) -> str:
        """Where things stand before a step."""
        last = self.runs.keys() - {(one.table, one.id) for one in found}
        decided = sum(self.now[name].word not in _UNDECIDED for name in last & self.now.keys())
        line = f"{decided} of {len(self.runs)} claims are decided"
        if found:
            line += f", further trials may decide {len(found)}"
        elif decided < len(self.runs):
            line += ", no trials are left for the others"
        if self.sizes:
            line += f" (of stated sizes, not judged on scaled runs: {len(self.sizes)})"
        if math.isfinite(self.budget.seconds):
            line += f", {duration(max(self.budget.left, 0.0))} are left"
        return line + (f"; next: {n_trials} trials" if n_trials else "")
