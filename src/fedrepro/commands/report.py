"""`fedrepro report`: judges and renders what is stored; trains nothing."""

from __future__ import annotations

import argparse
import time

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import paper_ids
from fedrepro.benchmark.store.store import Store
from fedrepro.commands._judged import (
    command_line,
    default_folder,
    folder_of_all,
    show,
    store_at,
)
from fedrepro.commands._options import (
    add_cells,
    add_papers,
    add_places,
    chosen_plan,
    papers_with_profile,
    refuse_selection,
    specs,
)
from fedrepro.commands._stored_profile import add_default, choose_profile

HELP = "judge and render what is stored, without training; several papers make one report"
EXAMPLE = "fedrepro report cpcfl mfcl --out results/reports/two-papers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers, and the same selection as `run`."""
    add_papers(parser)
    add_cells(parser)
    add_places(parser, "default: results/reports/PAPER-PROFILE, of several papers all-PROFILE")
    parser.add_argument(
        "--stale",
        action="store_true",
        help="show trials of earlier code where there are none of the present one; the report says "
        "so",
    )
    add_default(parser)


def execute(given: argparse.Namespace) -> int:
    """Judges and reports."""
    clock = time.perf_counter()
    alone = len(given.papers) == 1
    if not alone:
        refuse_selection(given)
    root, store = specs(given), store_at(given.store)
    ids = list(dict.fromkeys(given.papers or paper_ids(root)))
    choose_profile(given, ids, root, store)
    command = command_line()
    plans = [chosen_plan(given, paper) for paper in papers_with_profile(given, root)]
    if not plans:
        raise FedreproError(f"no paper has a profile '{given.profile}'")
    folder = given.out or (
        default_folder(plans[0], given) if alone else folder_of_all(given.profile)
    )
    reports = [_report(plan, store, given, command, clock) for plan in plans]
    return show(reports, folder)


def _report(
    plan: Plan, store: Store, given: argparse.Namespace, command: str, clock: float
) -> Report:
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.judging.trials import load_trials

    trials = load_trials(plan, store, include_stale=given.stale)
    return judge(plan, trials, command=command, wall_s=time.perf_counter() - clock)
