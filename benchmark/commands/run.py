"""`fedrepro run`: trains what is missing, judges every cell, writes the report."""

from __future__ import annotations

import argparse
from time import perf_counter

from fedrepro.benchmark.commands._options import add_execution, add_places, add_selection

HELP = "train what is missing, judge every cell and write the report"
EXAMPLE = "fedrepro run cpcfl --tables 3 --rows 'CP-CFL|*'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to run, where and how."""
    add_selection(parser)
    add_places(parser)
    add_execution(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be submitted, and train nothing"
    )


def execute(given: argparse.Namespace) -> int:
    """Runs, judges and reports."""
    from fedrepro.benchmark.commands._judged import finish, store_at, trained
    from fedrepro.benchmark.commands._options import chosen_plan, execution_options
    from fedrepro.benchmark.execution.run import rehearse

    clock = perf_counter()
    plan = chosen_plan(given)
    store = store_at(given.store)
    if given.dry_run:
        print("\n".join(rehearse(plan, store, **execution_options(given))))
        return 0
    not_run = trained(plan, store, given)
    return finish(plan, store, given, perf_counter() - clock, not_run)
