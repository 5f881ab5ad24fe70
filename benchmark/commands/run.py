"""`fedrepro run`: trains what is missing, judges every cell, writes the report."""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

from benchmark.commands._options import add_execution, add_places, add_selection

HELP = "train what is missing, judge every cell and write the report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to run, where and how."""
    add_selection(parser)
    add_places(parser)
    add_execution(parser)


def execute(given: argparse.Namespace) -> int:
    """Runs, judges and reports."""
    from benchmark.commands._judged import finish, store_at
    from benchmark.commands._options import chosen_plan
    from benchmark.progress import Progress
    from benchmark.run import execute as carry_out

    clock = perf_counter()
    plan = chosen_plan(given)
    store = store_at(given.store)
    execution = carry_out(
        plan,
        store,
        data_dir=given.data_dir,
        device=given.device,
        jobs=given.jobs,
        download=given.download,
        progress=Progress(),
    )
    print(execution.summary, file=sys.stderr)
    return finish(plan, store, given, perf_counter() - clock, execution.not_run)
