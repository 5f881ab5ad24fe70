"""`--budget` of `fedrepro published`: trains what can be judged here, and ends in time."""

from __future__ import annotations

import argparse
import math
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.planning.summary import Trial, duration
from fedrepro.benchmark.store.folder import saved_at, trial_name
from fedrepro.benchmark.store.published import Name, PublishedTrials
from fedrepro.benchmark.store.store import Store
from fedrepro.commands._options import estimator_for, execution_options
from fedrepro.commands._until_decided import seconds_of

_SAVED = 10
"""How often a trial saves itself in a budget, at the least: so little of it can be lost at its end,
however short it is."""
_SHOWN = 12
"""Trials, and reasons, that a list names."""
Seconds = Callable[[RunConfig], float]


def add_budget(parser: argparse.ArgumentParser) -> None:
    """For how long, or what it would be."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--budget",
        type=seconds_of,
        metavar="TIME",
        help="train for so long (15m, 900s, 3h); a trial that would end later is begun only if "
        "it can be gone on with",
    )
    how.add_argument(
        "--dry-run", action="store_true", help="say what would be trained, in which order and why"
    )


class _BudgetSpentError(BaseException):
    """Ends training as Ctrl-C does, so that no handler of errors takes it for one."""


def trained_within(
    given: argparse.Namespace, plans: Sequence[Plan], store: Store, published: PublishedTrials
) -> Iterator[str]:
    """Trains within the budget, or with `--dry-run` nothing; lines that say what was done."""
    from fedrepro.benchmark.execution.data_availability import DataAvailability
    from fedrepro.benchmark.execution.published import Wanted, Watched, in_order, judgeable
    from fedrepro.benchmark.execution.run import execute
    from fedrepro.benchmark.execution.until_decided import Budget

    budget = Budget(math.inf if given.budget is None else given.budget)
    available = DataAvailability(given.data_dir, given.download)
    found = [judgeable(plan, available) for plan in plans]
    for plan, one in zip(plans, found, strict=True):
        cells = sum(map(len, one.cells.values()))
        yield f"{plan.paper.id}: {cells} cells of {len(one.cells)} runs can be judged here"
        for reason, n in Counter(one.left.values()).most_common(_SHOWN):
            yield f"  {n} cells are left alone: {reason}"
    wanted = {run: Wanted(run, one.plan.seeds(run)) for one in found for run in one.cells}
    if not wanted:
        return
    seconds = estimator_for(given, store).of_one.ordering
    trials = in_order(
        list(wanted.values()),
        lambda run, seed: published.find(run, seed) is not None,
        lambda run, seed: store.find(run, seed) is not None,
        seconds,
    )
    # What is begun goes on first; what failed may fail again, and must not keep others waiting.
    trials.sort(key=lambda one: (store.error(*one) is not None, not _is_begun(one, store)))
    if given.dry_run:
        names = {
            run: [f"{id}: {'|'.join(row)} @ {'|'.join(column)}" for id, row, column in cells]
            for one in found
            for run, cells in one.cells.items()
        }
        yield from _listed(trials, names, seconds)
        return
    resumable = given.checkpoint_every > 0
    progress = Watched()
    options = execution_options(given)
    options["checkpoint_every"] = min(options["checkpoint_every"], budget.seconds / _SAVED)
    with _ending_after(budget.left if resumable else math.inf):
        execute(
            plans[0],
            store,
            download=given.download,
            progress=progress,
            trials=trials,
            may_begin=lambda s: budget.left > 0 if resumable else budget.allows(s),
            **options,
        )
    yield _outcome(trials, progress.begun, store)


def _is_begun(trial: Trial, store: Store) -> bool:
    """Whether a trial was interrupted and has saved itself."""
    run, seed = trial
    return saved_at(store.root, trial_name(run.key, seed)) is not None


def _outcome(trials: Sequence[Trial], begun: Mapping[Name, str], store: Store) -> str:
    """One line on what was made, what was begun and saved itself, and what was left."""
    left = [(run, seed) for run, seed in trials if store.find(run, seed) is None]
    failed = [one for one in left if store.error(*one) is not None]
    rest = [one for one in left if one not in failed]
    unfinished = [begun[one[0].key, one[1]] for one in rest if _goes_on(one, begun, store)]
    line = f"{len(trials) - len(left)} of {len(trials)} trials were made"
    if failed:
        line += f", {len(failed)} failed"
    if unfinished:
        line += f"; begun, to be gone on with by the same command: {_some(unfinished)}"
    later = [
        f"{run.description}, trial {seed}"
        for run, seed in rest
        if not _goes_on((run, seed), begun, store)
    ]
    return line + (f"; left for another budget: {_some(later)}" if later else "")


def _goes_on(trial: Trial, begun: Mapping[Name, str], store: Store) -> bool:
    """Whether the same command goes on with a trial that this one has begun."""
    return (trial[0].key, trial[1]) in begun and _is_begun(trial, store)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "; ".join(names[:_SHOWN]) + more


def _listed(
    trials: Sequence[Trial], cells: Mapping[RunConfig, Sequence[str]], seconds: Seconds
) -> Iterator[str]:
    """What would be trained, in order, with the cells of each run where it first stands."""
    total = sum(seconds(run) for run, _ in trials)
    yield f"{len(trials)} trials would be trained in this order, {duration(total)} of one process:"
    told = set[RunConfig]()
    for run, seed in trials:
        of = "" if run in told else f" ({'; '.join(cells.get(run, ('others start from it',)))})"
        told.add(run)
        yield f"  {run.key} trial {seed}: {run.description}, {duration(seconds(run))}{of}"


@contextmanager
def _ending_after(seconds: float) -> Iterator[None]:
    """Ends the block after so many seconds as Ctrl-C would, without a word; infinite for never."""
    if math.isinf(seconds):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _BudgetSpentError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _BudgetSpentError:
        pass
    finally:
        signal.signal(signal.SIGALRM, before)
