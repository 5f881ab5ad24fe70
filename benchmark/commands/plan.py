"""`fedrepro plan`: what a run would train, and how long it would take."""

from __future__ import annotations

import argparse
import json

from benchmark.commands._options import add_execution, add_places, add_selection

HELP = "say how many unique runs a profile needs, how many cells share them, and the time"
EXAMPLE = "fedrepro plan cpcfl --profile paper --device cuda --jobs 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The same selection as `run`."""
    add_selection(parser)
    add_places(parser)
    add_execution(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--runs", action="store_true", help="list every unique run")
    form.add_argument("--json", action="store_true", help="the plan and its runs as JSON")


def execute(given: argparse.Namespace) -> int:
    """Prints the plan; 3 if it holds no run."""
    from benchmark.commands._options import chosen_plan
    from benchmark.devices import default_jobs, devices_for
    from benchmark.store import Store
    from benchmark.summary import summarize

    plan = chosen_plan(given)
    devices = devices_for(given.device)
    workers = default_jobs(devices) if given.jobs is None else max(1, given.jobs)
    summary = summarize(
        plan, Store(given.store), device=devices[0], workers=workers, data_dir=given.data_dir
    )
    if given.json:
        print(json.dumps(summary.as_plain(), indent=1, ensure_ascii=False))
        return 0 if plan.runs else 3
    for line in summary.lines():
        print(line)
    if given.runs:
        for run in plan.runs:
            print(f"  {run.key}  {summary.sharing.get(run, 0):>3} cells  {run.description}")
    return 0 if plan.runs else 3
