"""`fedrepro plan`: what a run would train, and how long it would take."""

from __future__ import annotations

import argparse
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store
from fedrepro.commands._options import (
    add_cells,
    add_data,
    add_execution,
    add_papers,
    add_store,
    chosen_plan,
    estimator_for,
    execution_options,
    papers_with_profile,
    refuse_selection,
    specs,
)
from fedrepro.commands._terminal import print_json

if TYPE_CHECKING:
    from fedrepro.benchmark.planning.summary import Summary, TimeEstimator, Trial

HELP = "say how many unique runs a profile needs, how many cells share them, and the time"
EXAMPLE = "fedrepro plan cpcfl --profile paper --device cuda --jobs 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers, and the same selection as `run`."""
    add_papers(parser)
    add_cells(parser)
    add_data(parser)
    add_store(parser)
    add_execution(parser)
    parser.add_argument(
        "--measure",
        action="store_true",
        help="train short trials of the kinds of which no time is known; they stay in the store",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--runs", action="store_true", help="list every unique run")
    form.add_argument("--json", action="store_true", help="the plan and its runs as JSON")


def execute(given: argparse.Namespace) -> int:
    """Prints the plan, of several papers a line each and all of it; 3 if it holds no run."""
    from fedrepro.benchmark.planning.summary import summarize

    alone = len(given.papers) == 1
    if not alone:
        refuse_selection(given)
    store = Store(given.store)
    estimator = cache(lambda: estimator_for(given, store))
    size: Counter[str] = Counter()
    missing: dict[Trial, None] = {}
    plain = []
    for paper in papers_with_profile(given, specs(given)):
        plan = chosen_plan(given, paper)
        if given.measure:
            _measure(plan, store, estimator(), given)
            estimator.cache_clear()
        summary = summarize(plan, store, estimator)
        size.update(papers=1, cells=len(summary.plan.cells), trials=summary.trials)
        missing.update(dict.fromkeys(summary.missing))
        if given.json:
            plain.append(summary.as_plain(estimator().of_one))
        else:
            _print(summary, given, alone)
    if given.json:
        print_json(plain[0] if alone else plain)
    elif not alone:
        left = estimator().of(missing) if missing else None
        print(f"{size['papers']} papers: {size['cells']} cells, {size['trials']} trials")
        lines = ["no trial is missing"] if left is None else left.lines()
        print(*lines, sep="\n")
    return 0 if size["trials"] else 3


def _measure(plan: Plan, store: Store, known: TimeEstimator, given: argparse.Namespace) -> None:
    """Trains what shows how long the missing trials of a plan take."""
    from fedrepro.benchmark.execution.data_availability import DataAvailability
    from fedrepro.benchmark.execution.progress import Progress
    from fedrepro.benchmark.execution.run import execute
    from fedrepro.benchmark.judging.trials import chain
    from fedrepro.benchmark.planning.measuring import to_measure

    data = DataAvailability(given.data_dir, given.download)
    missing = dict.fromkeys(run for run, seed in plan.trials_to_run() if not store.find(run, seed))
    runs = [run for run in missing if not any(map(data.problem, chain(run)))]
    trials = to_measure(runs, known.of_one)
    execute(plan, store, trials=trials, progress=Progress(), **execution_options(given))


def _print(summary: Summary, given: argparse.Namespace, alone: bool) -> None:
    """The lines of a paper; one where it is not alone."""
    lines = list(summary.lines()) if alone else [summary.line()]
    for run in summary.plan.runs if given.runs else ():
        lines.append(f"  {run.key}  {summary.sharing.get(run, 0):>3} cells  {run.description}")
    print(*lines, sep="\n", flush=True)
