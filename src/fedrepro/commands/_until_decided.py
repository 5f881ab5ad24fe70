"""`--until-decided` and `--budget` of `fedrepro run`."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping

from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store
from fedrepro.commands._options import execution_options, seconds


def add_until_decided(parser: argparse.ArgumentParser) -> None:
    """How far to train."""
    parser.add_argument(
        "--until-decided",
        action="store_true",
        help="train in steps to the profile's looks, and only what open claims need",
    )
    parser.add_argument(
        "--budget",
        type=seconds,
        metavar="TIME",
        help="end after so long (15m, 900s, 2h); finished trials are kept and reported, and the "
        "same command goes on with the others",
    )


def trained_until_decided(plan: Plan, store: Store, given: argparse.Namespace) -> Mapping[str, str]:
    """Trains what open claims need; by run key, why a run was not tried.

    With `--dry-run` it only prints what the first step would train.
    """
    from fedrepro.benchmark.execution.progress import Progress
    from fedrepro.benchmark.execution.run import execute, rehearse
    from fedrepro.benchmark.execution.until_decided import steps, train_until_decided
    from fedrepro.benchmark.judging.trials import Finished, find_trial

    options = execution_options(given)
    if given.dry_run:
        found = (step.trials for step in steps(plan, store, {}))
        lacking = (
            trials
            for trials in found
            if not all(isinstance(find_trial(store, *one), Finished) for one in trials)
        )
        print("\n".join(rehearse(plan, store, trials=next(lacking, ()), **options)))
        return {}
    budget = math.inf if given.budget is None else given.budget
    progress = Progress()
    done = train_until_decided(
        plan,
        store,
        lambda trials, left: execute(
            plan,
            store,
            download=given.download,
            progress=progress,
            trials=trials,
            budget=left,
            **options,
        ),
        budget,
        progress.say,
    )
    print(done.summary, file=sys.stderr)
    return done.not_run
