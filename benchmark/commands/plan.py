"""`fedrepro plan`: what a run would train, and how long it would take."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from fedrepro.benchmark.commands._options import (
    add_cells,
    add_execution,
    add_papers,
    add_places,
)

if TYPE_CHECKING:
    from fedrepro.benchmark.planning.summary import Summary, TimeEstimator, Trial
    from fedrepro.benchmark.store.store import Store

HELP = "say how many unique runs a profile needs, how many cells share them, and the time"
EXAMPLE = "fedrepro plan cpcfl --profile paper --device cuda --jobs 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers, and the same selection as `run`."""
    add_papers(parser)
    add_cells(parser)
    add_places(parser)
    add_execution(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--runs", action="store_true", help="list every unique run")
    form.add_argument("--json", action="store_true", help="the plan and its runs as JSON")


def execute(given: argparse.Namespace) -> int:
    """Prints the plan, of several papers a line each and all of it; 3 if it holds no run."""
    from fedrepro.benchmark.store.store import Store

    store = Store(given.store)
    estimator = cache(lambda: _time_estimator(given, store))
    if len(given.papers) == 1:
        [summary] = _summaries(given, store, estimator)
        if given.json:
            _print_json(summary.as_plain())
        else:
            _print(*summary.lines())
            _print_runs(given, summary)
        return 0 if summary.plan.runs else 3
    size: Counter[str] = Counter()
    missing: dict[Trial, None] = {}
    plain = []
    for summary in _summaries(given, store, estimator):
        size.update(papers=1, cells=len(summary.plan.cells), trials=summary.trials)
        missing.update(dict.fromkeys(summary.missing))
        if given.json:
            plain.append(summary.as_plain())
        else:
            _print(summary.line())
            _print_runs(given, summary)
    left = estimator().of(missing) if missing else None
    if given.json:
        _print_json(plain)
    else:
        _print(f"{size['papers']} papers: {size['cells']} cells, {size['trials']} trials")
        _print("no trial is missing" if left is None else left.line())
    return 0 if size["trials"] else 3


def _summaries(
    given: argparse.Namespace, store: Store, estimator: Callable[[], TimeEstimator]
) -> Iterator[Summary]:
    """One by one, since all plans of a large suite need not be held."""
    from fedrepro.benchmark.commands._options import chosen_plan, print_skipped, refuse_selection
    from fedrepro.benchmark.planning.summary import summarize
    from fedrepro.benchmark.spec.load import load_paper, paper_ids

    if len(given.papers) != 1:
        refuse_selection(given)
    for paper in map(load_paper, dict.fromkeys(given.papers or paper_ids())):
        if given.papers or given.profile in paper.profiles:
            yield summarize(chosen_plan(given, paper), store, estimator)
        else:
            print_skipped(paper.id, given.profile)


def _time_estimator(given: argparse.Namespace, store: Store) -> TimeEstimator:
    """Learns from what is stored; imports torch, so it is asked for only if a trial is missing."""
    from fedrepro.benchmark.execution.executors.base import ExecutorOptions
    from fedrepro.benchmark.execution.executors.local import LocalExecutor
    from fedrepro.benchmark.planning.estimate import TrialTimeEstimator
    from fedrepro.benchmark.planning.summary import TimeEstimator
    from fedrepro.benchmark.training.training import device_name

    here = LocalExecutor(ExecutorOptions(given.data_dir, given.device, given.jobs))
    name = device_name(here.device)
    trials = TrialTimeEstimator(here.device, name, store.records(), given.data_dir)
    return TimeEstimator(trials, name, here.slots)


def _print_runs(given: argparse.Namespace, summary: Summary) -> None:
    if given.runs:
        for run in summary.plan.runs:
            _print(f"  {run.key}  {summary.sharing.get(run, 0):>3} cells  {run.description}")


def _print(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def _print_json(plain: object) -> None:
    print(json.dumps(plain, indent=1, ensure_ascii=False))
