"""Carries out a plan: trains the trials that the store lacks and stores their results."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ...methods.nn.precision import refusal, warning
from ..config import Trial
from ..errors import FedreproError
from ..planning.estimate import TrialTimes
from ..planning.plan import Plan
from ..store.store import Store
from ..training.training import device_name
from .data_availability import DataAvailability
from .display import Display, TrialName
from .executors import ExecutorOptions
from .executors.local import LocalExecutor
from .jobs import Dispatch, Execution, Job
from .processes import alarm

if TYPE_CHECKING:
    from .executors.parsl import ParslExecutor

_GENEROUS = 20.0
_LEAST_LIMIT_S = 1800.0
_SAVED = 10  # so often a trial saves itself within a budget, at the least
_LARGEST_LIMIT_S = 1e8  # three years: no clock or timer of a worker refuses it


class _BudgetSpentError(BaseException):
    """Ends training as Ctrl-C does; no `Exception`, so that no handler of errors takes it."""


def execute(
    plan: Plan,
    store: Store,
    *,
    data_dir: Path | None = None,
    device: str = "auto",
    jobs: int | None = None,
    download: bool = False,
    progress: Display | None = None,
    cluster: Path | None = None,
    time_limit: float | None = None,
    checkpoint_every: float = 0.0,
    trials: Sequence[Trial] | None = None,
    budget: float | None = None,
    verbose: bool = False,
) -> Execution:
    """Trains every trial of `plan` that `store` lacks; notes those that fail or miss their data.

    `data_dir`, `device`, `jobs`, `cluster`: as in `ExecutorOptions`. `download`: fetches missing
    data sets. `time_limit`: seconds of running after which a trial counts as hung; None for 20
    times the longest finished trial of its kind, if there is one, and 0 for never.
    `checkpoint_every`: seconds between two times at which a trial saves itself in the store, to go
    on from there when it is interrupted; 0 for never. `trials`: these alone and in this order, each
    after those that it starts from; None for all. `budget`: seconds after which training ends; None
    for no end. The shortest trials are trained first then, and those that save themselves do so at
    least ten times within the budget. `verbose`: shows the whole traceback of a trial that fails.

    Raises `StoreError` if the store cannot be written, and `FedreproError` for a missing device."""
    shown, clock = progress or Display(), time.perf_counter()
    budget = math.inf if budget is None else budget
    every_s = min(checkpoint_every, budget / _SAVED)
    options = ExecutorOptions(data_dir, device, jobs, cluster, store.root.absolute(), every_s)
    chosen = executor_for(options)
    with store.writing():
        todo, done = _sort_out(plan, store, DataAvailability(data_dir, download), trials, shown.say)
        ordered, seconds, chains = _timed(todo, store, chosen.device, time_limit, shown.say)
        if trials is None:
            short = budget < math.inf
            ordered.sort(key=lambda job: seconds[job.name] if short else -chains[job.name])
        shown.begin(seconds)
        if todo:
            left_s = budget - (time.perf_counter() - clock)
            with suppress(_BudgetSpentError), alarm(left_s, _BudgetSpentError()), shown:
                chosen.train(Dispatch(ordered, shown, store, done, verbose))
        if (left := len(todo) - done.trained - done.failed) > 0:
            shown.say(f"the budget is spent: {left} trials are left for the same command")
    done.wall_s = time.perf_counter() - clock
    return done


def executor_for(options: ExecutorOptions) -> "LocalExecutor | ParslExecutor":
    """The executor of this machine, or of the cluster that is described. Its `device` is the first
    of several. `train(dispatch)` settles every job, and writes nothing to the store itself.
    Whatever is raised meanwhile ends the workers at once. It raises `FedreproError` if workers
    cannot be started, as this function does for a missing device or package."""
    if options.cluster is None:
        return LocalExecutor(options)
    try:
        from .executors.parsl import ParslExecutor
    except ModuleNotFoundError as error:
        needed = f"the package {error.name}: pip install 'fedrepro[cluster]'"
        raise FedreproError(f"--cluster needs {needed}") from error
    return ParslExecutor(options)


def _sort_out(
    plan: Plan,
    store: Store,
    available: DataAvailability,
    trials: Sequence[Trial] | None,
    say: Callable[[str], None],
) -> tuple[list[Job], Execution]:
    """The trials to train, each after its start; says why the others are not trained."""
    todo, done = list[Job](), Execution()
    other_data, stale = set[TrialName](), Counter[str]()
    for config, seed in plan.trials_to_run() if trials is None else trials:
        job, record = Job(config, seed), store.find(config, seed)
        changed = [] if record is None else available.changed(config, record)
        if changed or job.needs in other_data:
            other_data.add(job.name)
            stale.update(changed or ["data of the run that it starts from"])
        elif record is not None:
            store.forget_checkpoint(config, seed)  # left if a driver is killed while it saves
            done.reused += 1
            continue
        else:
            stale.update(store.stale(config, seed))
        todo.append(job)
    for config in dict.fromkeys(job.config for job in todo):
        reason = done.not_run.get(config.init_from.key) if config.init_from else None
        if reason := reason or available.problem(config):
            done.not_run[config.key] = reason
    todo = [job for job in todo if job.config.key not in done.not_run]
    say(f"{len(todo)} trials to train, {done.reused} reused from {store.root}")
    for sentence in dict.fromkeys(available.partly):
        say(sentence)
    for edited, n in stale.most_common():
        noun = "trial was" if n == 1 else "trials were"
        say(f"stale: {edited} has changed since {n} {noun} made")
    for reason, n in Counter(done.not_run.values()).items():
        say(f"NOT RUN: {reason} ({n} {'run' if n == 1 else 'runs'})")
    return todo, done


def _timed(
    todo: list[Job], store: Store, device: str, time_limit: float | None, say: Callable[[str], None]
) -> tuple[list[Job], dict[TrialName, float], dict[TrialName | None, float]]:
    """Jobs with limits, their estimated seconds, and those of the longest chain each begins."""
    for precision in sorted({job.config.precision for job in todo}):
        if (refused := refusal(precision, device)) is not None:
            raise FedreproError(refused)
        if (warned := warning(precision, device)) is not None:
            say(warned)
    # A cluster's devices are not here: its trials are ordered as if they ran on this processor.
    here = device if torch.device(device).type == "cpu" or torch.cuda.is_available() else "cpu"
    known = TrialTimes(device_name(here), store.records())
    each = {run: known.ordering(run) for run in {job.config for job in todo}}
    seconds = {job.name: each[job.config] for job in todo}
    chains = dict[TrialName | None, float]()
    for job in reversed(todo):
        chains[job.name] = seconds[job.name] + chains.get(job.name, 0.0)
        chains[job.needs] = max(chains.get(job.needs, 0.0), chains[job.name])
    jobs = [replace(job, limit_s=_limit(known.longest(job.config), time_limit)) for job in todo]
    return jobs, seconds, chains


def _limit(longest: float | None, given: float | None) -> float | None:
    """Seconds until a trial counts as hung; none where no trial of its kind (`longest`) ended."""
    if given == 0 or (given is None and longest is None):
        return None
    wanted = max(_LEAST_LIMIT_S, _GENEROUS * (longest or 0.0)) if given is None else given
    return min(wanted, _LARGEST_LIMIT_S)
