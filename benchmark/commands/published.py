"""`fedrepro published`: what can be judged here at full protocol, kept as records to commit.

Without a budget it trains nothing: the report is made from the committed records alone.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from fedrepro.benchmark.commands._judged import command_line, show, store_at
from fedrepro.benchmark.commands._options import (
    add_execution,
    add_papers,
    add_places,
    add_precision,
    add_series,
    add_tables,
    changed_precision,
    folder,
    papers_with_profile,
    specs,
)
from fedrepro.benchmark.commands._published import add_budget, trained_within
from fedrepro.benchmark.commands._terminal import complain
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.store.published import FOLDER, PublishedTrials

HELP = "run what can be judged here at full protocol within a budget, and report what was"
EXAMPLE = "fedrepro published cpcfl --tables 5 --budget 3h --data-dir data"
_PROFILE = "paper"
_OUT = Path("results/reports/published")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cells, for how long, and where records and texts lie."""
    add_papers(parser)
    add_tables(parser)
    parser.add_argument("--rows", metavar="PATTERN", help="only rows such as 'CP-CFL|*'")
    add_series(parser)
    add_precision(parser)
    parser.set_defaults(profile=_PROFILE)
    add_budget(parser)
    parser.add_argument(
        "--from",
        dest="stores",
        action="append",
        default=[],
        type=folder,
        metavar="STORE",
        help="take the finished trials of this store; may be given again",
    )
    parser.add_argument(
        "--records",
        type=folder,
        default=FOLDER,
        metavar="DIR",
        help=f"the committed records (default: {FOLDER})",
    )
    parser.add_argument(
        "--docs",
        type=folder,
        metavar="DIR",
        help="write docs/published.md and the README's sentence in the checkout DIR",
    )
    add_places(parser, f"default: {_OUT}")
    add_execution(parser)


def execute(given: argparse.Namespace) -> int:
    """Trains within the budget, takes what is finished, and reports on what is committed."""
    from fedrepro.benchmark.judging.committed import judge_committed, run_cells, unknown

    if len(given.papers) != 1 and (given.tables or given.rows):
        raise FedreproError("--tables and --rows need one paper: name it")
    plans = [
        make_plan(
            paper,
            _PROFILE,
            tables=given.tables,
            rows=given.rows,
            series=given.series,
            sets=changed_precision(given),
        )
        for paper in papers_with_profile(given, specs(given))
    ]
    published = PublishedTrials(given.records)
    if given.dry_run:
        print("\n".join(trained_within(given, plans, store_at(given.store), published)))
        return 0
    stores = [*given.stores, *([] if given.budget is None else [given.store])]
    _take(plans, stores, published)
    if given.budget is not None:
        for line in trained_within(given, plans, store_at(given.store), published):
            print(line, file=sys.stderr)
        _take(plans, [given.store], published)
    ran = [plan for plan in plans if any(run.key in _runs(published) for run in plan.runs)]
    reports = [judge_committed(plan, published, command=command_line()) for plan in ran]
    cells = [
        cell
        for plan, report in zip(ran, reports, strict=True)
        for cell in run_cells(plan, report, published)
    ]
    told = importlib.import_module("fedrepro.reports.published")
    if not published.trials:
        complain(f"no record in {given.records}: fedrepro's own lie in its repository alone")
    print(told.sentence(cells))
    for name in unknown(plans, published) if _whole(given) else ():
        complain(f"{given.records / name} is of no run that is planned today: its cell has none")
    if given.docs is not None:
        for page in told.write(given.docs, cells):
            print(f"written: {page}")
    return show(reports, given.out or _folder(given)) if reports else 3


def _folder(given: argparse.Namespace) -> Path:
    """Another one for each precision and series: none replaces the report of the others."""
    series = None if given.series is None else f"series-{given.series}"
    return _OUT.with_name("-".join(filter(None, (_OUT.name, given.precision, series))))


def _whole(given: argparse.Namespace) -> bool:
    """Whether nothing was left out."""
    return not (given.papers or given.tables or given.rows)


def _runs(published: PublishedTrials) -> set[str]:
    return {run for run, _ in published.trials}


def _take(plans: Sequence[Plan], stores: Sequence[Path], published: PublishedTrials) -> None:
    from fedrepro.benchmark.execution.take import take

    for store in stores:
        print(take(plans, store_at(store), published).line(store), file=sys.stderr)
