"""Carries out a plan: trains the trials that the store lacks and stores their results.

`sort_out` compares the plan with the store and the data, `weighted` puts what is left in order, an
executor trains it, and `_keep` stores each result as it comes.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from ...methods.nn.precision import refusal, warning
from ..errors import FedreproError, StoreError
from ..planning.estimate import TrialTimes
from ..planning.plan import Plan
from ..planning.summary import Trial, duration
from ..store import fingerprint
from ..store.folder import saved_at, trial_name
from ..store.store import Store
from ..training.training import device_name
from . import executors
from .budget import ending_after
from .data_availability import DataAvailability
from .executors.base import Executor, ExecutorOptions, Saving
from .jobs import Dispatch, Done, Failed, Job, Listener, Queue, Result
from .progress import Progress

_GENEROUS = 20.0
_LEAST_LIMIT_S = 1800.0
_SAVED = 10  # so often a trial saves itself within a budget, at the least
_LARGEST_LIMIT_S = 1e8  # three years: no clock or timer of a worker refuses it


@dataclass
class Execution:
    """What carrying out a plan came to.

    trained, reused: numbers of trials.
    wall_s: seconds in all.
    not_run: by run key, why nothing was tried (data that are missing).
    errors: by run key and seed, why a trial failed.
    """

    trained: int = 0
    reused: int = 0
    wall_s: float = 0.0
    not_run: dict[str, str] = field(default_factory=dict)
    errors: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Number of trials."""
        return len(self.errors)

    def add(self, other: Execution) -> None:
        """Counts what another step came to."""
        self.trained += other.trained
        self.reused += other.reused
        self.wall_s += other.wall_s
        self.not_run |= other.not_run
        self.errors |= other.errors

    @property
    def summary(self) -> str:
        """One line for the end."""
        words = [f"{self.trained} trained", f"{self.reused} reused"]
        if self.failed:
            words.append(f"{self.failed} failed")
        if self.not_run:
            words.append(f"{len(self.not_run)} runs NOT RUN")
        return f"trials: {', '.join(words)} in {self.wall_s:.0f} s"


def execute(
    plan: Plan,
    store: Store,
    *,
    data_dir: Path | None = None,
    device: str = "auto",
    jobs: int | None = None,
    download: bool = False,
    progress: Progress | None = None,
    executor: str = "local",
    cluster: Path | None = None,
    time_limit: float | None = None,
    checkpoint_every: float = 0.0,
    trials: Sequence[Trial] | None = None,
    budget: float | None = None,
) -> Execution:
    """Trains every trial of `plan` that `store` lacks; notes those that fail or miss their data.

    data_dir, device, jobs, cluster: as in `ExecutorOptions`.
    download: fetches missing data sets.
    executor: where trials are trained (`benchmark.execution.executors`).
    time_limit: seconds of running after which a trial counts as hung; None for 20 times the longest
    finished trial of its kind, if there is one, and 0 for never.
    checkpoint_every: seconds between two times at which a trial saves itself in the store, to go on
    from there when it is interrupted; 0 for never.
    trials: these alone and in this order, each after those that it starts from; None for all.
    budget: seconds after which training ends; None for no end. The shortest trials are trained
    first then, and those that save themselves do so at least ten times within the budget.

    Raises `StoreError` if the store cannot be written, and `FedreproError` for a device that is not
    there.
    """
    shown, clock = progress or Progress(), time.perf_counter()
    budget = math.inf if budget is None else budget
    checkpoint_every = min(checkpoint_every, budget / _SAVED)
    saving = Saving(store.root.absolute(), checkpoint_every) if checkpoint_every else None
    options = ExecutorOptions(data_dir, device, jobs, cluster, saving)
    chosen = executors.find(executor)(options)
    with store.writing():
        driver = _Driver(plan, store, data_dir, shown, trials, math.isfinite(budget))
        todo = driver.sort_out(download)
        with ending_after(budget - (time.perf_counter() - clock)):
            driver.train(todo, chosen, time_limit)
        if (left := len(todo) - driver.done.trained - driver.done.failed) > 0:
            shown.say(f"the budget is spent: {left} trials are left for the same command")
    driver.done.wall_s = time.perf_counter() - clock
    return driver.done


def rehearse(
    plan: Plan,
    store: Store,
    *,
    data_dir: Path | None = None,
    device: str = "auto",
    jobs: int | None = None,
    executor: str = "local",
    cluster: Path | None = None,
    time_limit: float | None = None,
    checkpoint_every: float = 0.0,
    trials: Sequence[Trial] | None = None,
) -> list[str]:
    """Lines that say what `execute` would submit, where, and in which order; nothing is written."""
    chosen = executors.find(executor)(ExecutorOptions(data_dir, device, jobs, cluster))
    driver = _Driver(plan, store, data_dir, Progress(), trials)
    todo = driver.sort_out(download=False)
    queue = Queue(driver.weighted(todo, chosen, time_limit))
    lines = [*chosen.describe(), f"{len(todo)} trials would be submitted, in this order:"]
    while (job := queue.next()) is not None:
        after = "" if job.needs is None else f", after {job.needs[0]} trial {job.needs[1]}"
        limit = "" if job.limit_s is None else f", at most {duration(job.limit_s)}"
        lines.append(f"  {job.config.key} trial {job.seed}: {job.config.description}{after}{limit}")
        queue.done(job)
    return lines


@dataclass
class _Driver:
    plan: Plan
    store: Store
    data_dir: Path | None
    progress: Progress
    trials: Sequence[Trial] | None = None
    shortest_first: bool = False
    done: Execution = field(default_factory=Execution)
    seconds: dict[tuple[str, int], float] = field(default_factory=dict)
    is_measured: bool = False

    def sort_out(self, download: bool) -> list[Job]:
        """The trials to train, each after its start; says why the others are not trained."""
        available = DataAvailability(self.data_dir, download)
        todo: list[Job] = []
        other_data = set[tuple[str, int]]()
        stale = Counter[str]()
        wanted = self.plan.trials_to_run() if self.trials is None else self.trials
        for rank, (config, seed) in enumerate(wanted):
            job = Job(config, seed, rank=0 if self.trials is None else rank)
            record = self.store.find(config, seed)
            changed = [] if record is None else available.changed(config, record)
            if changed or job.needs in other_data:
                other_data.add(job.name)
                stale.update(changed or ["data of the run that it starts from"])
            elif record is not None:
                self.done.reused += 1
                continue
            else:
                stale.update(self.store.stale(config, seed))
            todo.append(job)
        not_run = self.done.not_run
        for config in dict.fromkeys(job.config for job in todo):
            reason = not_run.get(config.start.key) if config.start else None
            reason = reason or available.problem(config)
            if reason is not None:
                not_run[config.key] = reason
        todo = [job for job in todo if job.config.key not in not_run]
        self._announce(len(todo), stale)
        return todo

    def _announce(self, todo: int, stale: Counter[str]) -> None:
        say = self.progress.say
        say(f"{todo} trials to train, {self.done.reused} reused from {self.store.root}")
        for changed, trials in stale.most_common():
            noun = "trial was" if trials == 1 else "trials were"
            say(f"stale: {changed} has changed since {trials} {noun} made")
        for reason, runs in Counter(self.done.not_run.values()).items():
            say(f"NOT RUN: {reason} ({runs} {'run' if runs == 1 else 'runs'})")

    def train(self, todo: list[Job], executor: Executor, time_limit: float | None) -> None:
        """Trains jobs and stores their results."""
        if not todo:
            return
        jobs = self.weighted(todo, executor, time_limit)
        shown = self.progress
        weight = sum(self.seconds.values())
        shown.begin(len(jobs), weight, executor.slots, self.is_measured)

        def finished(job: Job, result: Result) -> bool:
            stored = self._keep(job, result)
            shown.ended(job.name, self.seconds[job.name], failed=not stored)
            return stored

        listener = Listener(
            encoder_of=self._encoder_of,
            finished=finished,
            started=lambda job: shown.started(job.name, _label(job), self.seconds[job.name]),
            advanced=lambda job, done, total: shown.advanced(job.name, done, total),
            said=lambda job, sentence: shown.say(f"{_label(job)}: {sentence}"),
            saved=lambda job: saved_at(self.store.root, trial_name(*job.name)),
            waiting=shown.say,
        )
        with shown:
            executor.train(Dispatch(Queue(jobs), listener))

    def _check_precisions(self, todo: list[Job], device: str) -> None:
        """Raises `FedreproError` for what the device cannot do, and says what it does slowly."""
        for precision in sorted({job.config.precision for job in todo}):
            if (refused := refusal(precision, device)) is not None:
                raise FedreproError(refused)
            if (warned := warning(precision, device)) is not None:
                self.progress.say(warned)

    def weighted(self, todo: list[Job], executor: Executor, time_limit: float | None) -> list[Job]:
        """The jobs with limits, and weights: seconds of each and of the longest chain after it."""
        device = executor.device
        self._check_precisions(todo, device)
        # A cluster's devices are not here: its trials are ordered as if they ran on this processor.
        here = device if torch.device(device).type == "cpu" or torch.cuda.is_available() else "cpu"
        known = TrialTimes(device_name(here), self.store.records())
        each = {run: known.ordering(run) for run in {job.config for job in todo}}
        self.is_measured = all(known.seconds(run) is not None for run in each)
        self.seconds = {job.name: each[job.config] for job in todo}
        weighted: list[Job] = []
        tail: dict[tuple[str, int] | None, float] = {}
        for job in reversed(todo):
            own = self.seconds[job.name]
            weight = own + tail.get(job.name, 0.0)
            tail[job.needs] = max(tail.get(job.needs, 0.0), weight)
            weight = -own if self.shortest_first else weight
            limit_s = _limit(known.longest(job.config), time_limit)
            weighted.append(replace(job, weight=weight, limit_s=limit_s))
        return weighted[::-1]

    def _keep(self, job: Job, result: Result) -> bool:
        """Stores a result, or why there is none; returns whether there is one."""
        if isinstance(result, Done):
            if result.source != fingerprint.digest(self.store.source_of(job.config)):
                result = Failed("its source was edited while it was trained; run again")
            else:
                try:
                    self.store.save(job.config, job.seed, result.outcome, result.provenance)
                except ValueError as error:
                    result = Failed(str(error))
                else:
                    self.done.trained += 1
                    return True
        self.done.errors[job.name] = result.message
        self.store.save_error(job.config, job.seed, result.message, result.details)
        self.progress.say(f"ERROR: {_label(job)}: {result.message}")
        return False

    def _encoder_of(self, job: Job) -> Path | None:
        if job.config.start is None:
            return None
        assert job.needs is not None
        record = self.store.find(job.config.start, job.needs[1])
        if record is None:
            raise StoreError(
                f"the trial that {job.config.description} starts from is gone from the store; "
                "run again to renew it"
            )
        return self.store.encoder_path(record)


def _limit(longest: float | None, given: float | None) -> float | None:
    """Seconds until a trial counts as hung; none where no trial of its kind (`longest`) ended."""
    if given == 0 or (given is None and longest is None):
        return None
    wanted = max(_LEAST_LIMIT_S, _GENEROUS * (longest or 0.0)) if given is None else given
    return min(wanted, _LARGEST_LIMIT_S)


def _label(job: Job) -> str:
    return f"{job.config.description}, trial {job.seed}"
