"""`fedrepro run`: trains what is missing, judges every cell, writes the report."""

import argparse
import math
import sys
from collections.abc import Mapping
from time import perf_counter

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store
from fedrepro.commands import _options as options
from fedrepro.commands._judged import default_folder, judged, show, store_at, trained

HELP = "train what is missing, judge every cell and write the report"
EXAMPLE = "fedrepro run cpcfl --tables 3 --rows 'CP-CFL|*'"
ARGUMENTS = (
    *options.PAPER,
    options.option("others", nargs="*", help=argparse.SUPPRESS),
    *options.CELLS,
    *options.PLACES,
    options.out(),
    *options.EXECUTION,
    options.flag(
        "--until-decided",
        "train in steps to the profile's looks, and only what open claims need",
    ),
    options.option(
        "--budget",
        type=options.seconds,
        metavar="TIME",
        help="end after so long (15m, 900s, 2h); finished trials are kept and reported, and the "
        "same command goes on with the others",
    ),
    options.flag("--dry-run", "print what would be submitted, and train nothing"),
)


def execute(given: argparse.Namespace) -> int:
    """Runs, judges and reports."""
    from fedrepro.benchmark.execution.run import rehearse

    clock = perf_counter()
    if given.others:
        papers = [given.paper, *given.others]
        one_by_one = "; ".join(f"fedrepro run {paper}" for paper in papers)
        raise FedreproError(
            f"one paper a run: {one_by_one}; then one report: fedrepro report {' '.join(papers)}"
        )
    plan = options.plan(given, options.paper(given))
    store = store_at(given.store)
    if given.dry_run and given.until_decided:
        _trained_until_decided(plan, store, given)
        return 0
    if given.dry_run:
        print("\n".join(rehearse(plan, store, **options.execution(given))))
        return 0
    # Before the training, so that a name that no folder can have costs no work.
    folder = given.out or default_folder(plan, given)
    train = _trained_until_decided if given.until_decided else trained
    return show([judged(plan, store, train(plan, store, given), since=clock)], folder)


def _trained_until_decided(
    plan: Plan, store: Store, given: argparse.Namespace
) -> Mapping[str, str]:
    """Trains what open claims need; by run key, why a run was not tried.

    With `--dry-run` it only prints what the first step would train.
    """
    from fedrepro.benchmark.execution import run
    from fedrepro.benchmark.execution.display import Display
    from fedrepro.benchmark.execution.until_decided import steps, train_until_decided
    from fedrepro.benchmark.judging.trials import Finished, find_trial

    how = options.execution(given)
    if given.dry_run:
        found = (trials for _, trials in steps(plan, store, {}))
        lacking = (
            trials
            for trials in found
            if not all(isinstance(find_trial(store, *one), Finished) for one in trials)
        )
        print("\n".join(run.rehearse(plan, store, trials=next(lacking, ()), **how)))
        return {}
    budget = math.inf if given.budget is None else given.budget
    progress = Display()
    done = train_until_decided(
        plan,
        store,
        lambda trials, left: run.execute(
            plan,
            store,
            download=given.download,
            progress=progress,
            trials=trials,
            budget=left,
            **how,
        ),
        budget,
        progress.say,
    )
    print(done.summary, file=sys.stderr)
    return done.not_run
