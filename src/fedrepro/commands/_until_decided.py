"""`--until-decided` and `--budget` of `fedrepro run`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.looks_reached import looks_of
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store
from fedrepro.commands._judged import command_line
from fedrepro.commands._options import estimator_for, execution_options

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST_S = 1e8


def add_until_decided(parser: argparse.ArgumentParser) -> None:
    """How far to train."""
    parser.add_argument(
        "--until-decided",
        action="store_true",
        help="train in steps to the profile's looks, and only what open claims need",
    )
    parser.add_argument(
        "--budget",
        type=seconds_of,
        metavar="TIME",
        help="with --until-decided: no trial begins that would end later (15m, 900s, 2h)",
    )


def check_options(given: argparse.Namespace) -> None:
    """Raises `FedreproError` for options that say nothing together."""
    if given.budget is not None and not given.until_decided:
        raise FedreproError("--budget needs --until-decided")


def trained_until_decided(
    plan: Plan, store: Store, given: argparse.Namespace
) -> tuple[Plan, Mapping[str, str]]:
    """Trains what open claims need; the plan as far as it came, and by run key why it was not run.

    With `--dry-run` it only prints what the first step would train.
    """
    from fedrepro.benchmark.execution.data_availability import DataAvailability
    from fedrepro.benchmark.execution.progress import Progress
    from fedrepro.benchmark.execution.run import execute, rehearse
    from fedrepro.benchmark.execution.until_decided import Budget, Means, UntilDecided
    from fedrepro.benchmark.judging.judge import judge

    options = execution_options(given)
    available = DataAvailability(given.data_dir, download=False)
    budget = Budget() if given.budget is None else Budget(given.budget)
    progress = Progress()
    looks = looks_of(plan.profile, given.trials)
    if given.trials is not None and looks[-1] < given.trials:
        progress.say(f"the last look within {given.trials} trials is at {looks[-1]}")
    steps = UntilDecided(
        plan,
        store,
        looks,
        Means(
            judge=lambda so_far: judge(
                so_far, store, command=command_line(), not_run=steps.done.not_run, audit=False
            ),
            train=lambda trials: execute(
                plan,
                store,
                download=given.download,
                progress=progress,
                trials=trials,
                may_begin=budget.allows,
                **options,
            ),
            seconds=lambda: estimator_for(given, store).of_one.ordering,
            say=progress.say,
            is_current=lambda run, record: not available.changed(run, record),
        ),
        budget,
    )
    if given.dry_run:
        print("\n".join(rehearse(plan, store, trials=steps.next_step()[1], **options)))
        return plan, {}
    reached = steps.run()
    print(steps.done.summary, file=sys.stderr)
    return reached, steps.done.not_run


def seconds_of(text: str) -> float:
    """Seconds of `15m`, `900s` or `2h`."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhd])", text.strip(), re.ASCII)
    seconds = float(found[1]) * _SECONDS[found[2]] if found else -1.0
    if not 0 <= seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 15m, 900s or 2h")
    return seconds
