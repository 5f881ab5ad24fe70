"""`fedrepro report`: judges and renders what is stored; trains nothing."""

from __future__ import annotations

import argparse
from time import perf_counter

from benchmark.commands._options import add_places, add_selection

HELP = "judge and render what is stored, without training"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The same selection as `run`."""
    add_selection(parser)
    add_places(parser)


def execute(given: argparse.Namespace) -> int:
    """Judges and reports."""
    from benchmark.commands._judged import finish, store_at
    from benchmark.commands._options import chosen_plan

    clock = perf_counter()
    plan = chosen_plan(given)
    return finish(plan, store_at(given.store), given, perf_counter() - clock, {})
