"""`fedrepro plan`: what a run would train, and how long it would take."""

from __future__ import annotations

import argparse

from benchmark.commands._options import add_execution, add_places, add_selection

HELP = "say how many unique runs a profile needs, how many cells share them, and the time"
EXAMPLE = "fedrepro plan cpcfl --profile paper --device cuda --jobs 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The same selection as `run`."""
    add_selection(parser)
    add_places(parser)
    add_execution(parser)
    parser.add_argument("--runs", action="store_true", help="list every unique run")


def execute(given: argparse.Namespace) -> int:
    """Prints the plan; 3 if it holds no run."""
    from benchmark.commands._options import chosen_plan
    from benchmark.devices import default_jobs, devices_for
    from benchmark.plan import describe
    from benchmark.store import Store

    plan = chosen_plan(given)
    devices = devices_for(given.device)
    workers = default_jobs(devices) if given.jobs is None else max(1, given.jobs)
    store = Store(given.store)
    for line in describe(plan, store, device=devices[0], workers=workers, data_dir=given.data_dir):
        print(line)
    if given.runs:
        shared = plan.sharing()
        for run in plan.runs:
            print(f"  {run.key}  {shared.get(run, 0):>3} cells  {run.description}")
    return 0 if plan.runs else 3
