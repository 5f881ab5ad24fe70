"""Say what would be trained, and how long it takes."""

import argparse
from functools import cache
from typing import TYPE_CHECKING

from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store
from fedrepro.commands import _options as options
from fedrepro.commands._judged import store_at

if TYPE_CHECKING:
    from fedrepro.benchmark.planning.estimate import TrialTimes

EXAMPLE = "fedrepro plan cpcfl --profile paper"
ARGUMENTS = (
    *options.PAPERS,
    *options.CELLS,
    *options.PLACES,
    *options.EXECUTION,
    options.flag("--measure", "train short trials of the kinds of which no time is known; they "
        "stay in the store"),
    options.flag("--runs", "list every unique run"),
)  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    """Prints the plan, of several papers a line each and all of it; 3 if it holds no run."""
    from fedrepro.benchmark.planning.summary import Summary

    alone = options.one_is_named(args)
    store = store_at(args.store)
    estimator = cache(lambda: options.estimator_for(args, store))
    found: list[Summary] = []
    for paper in options.papers_with_profile(args):
        plan = options.plan(args, paper)
        if args.measure:
            _measure(plan, store, estimator(), args)
            estimator.cache_clear()
        summary = Summary(plan, store, estimator)
        found.append(summary)
        print(*(summary.lines() if alone else [summary.line()]), sep="\n", flush=True)
        for run in plan.runs if args.runs else ():
            print(f"  {run.key}  {summary.sharing.get(run, 0):>3} cells  {run.description}")
    trials = sum(one.trials for one in found)
    if not alone:
        missing = [trial for one in found for trial in one.missing]
        left = estimator().of(missing) if missing else None
        cells = sum(len(one.plan.cells) for one in found)
        print(f"{len(found)} papers: {cells} cells, {trials} trials")
        print(*(["no trial is missing"] if left is None else left.lines()), sep="\n")
    return 0 if trials else 3


def _measure(plan: Plan, store: Store, known: "TrialTimes", args: argparse.Namespace) -> None:
    from fedrepro.benchmark.config import chain
    from fedrepro.benchmark.execution.data_availability import DataAvailability
    from fedrepro.benchmark.execution.display import Display
    from fedrepro.benchmark.execution.run import execute

    data = DataAvailability(args.data_dir, args.download)
    missing = dict.fromkeys(run for run, seed in plan.trials_to_run() if not store.find(run, seed))
    trials = known.to_measure(run for run in missing if not any(map(data.problem, chain(run))))
    execute(plan, store, trials=trials, progress=Display(), **options.execution(args))
