"""`fedrepro run`: trains what is missing, judges every cell, writes the report."""

from __future__ import annotations

import argparse
from time import perf_counter

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.commands._judged import (
    command_line,
    default_folder,
    show,
    store_at,
    trained,
)
from fedrepro.commands._options import (
    add_cells,
    add_execution,
    add_paper,
    add_places,
    chosen_plan,
    execution_options,
    specs,
)
from fedrepro.commands._until_decided import (
    add_until_decided,
    trained_until_decided,
)

HELP = "train what is missing, judge every cell and write the report"
EXAMPLE = "fedrepro run cpcfl --tables 3 --rows 'CP-CFL|*'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to run, where and how."""
    add_paper(parser)
    parser.add_argument("others", nargs="*", help=argparse.SUPPRESS)
    add_cells(parser)
    add_places(parser)
    add_execution(parser)
    add_until_decided(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be submitted, and train nothing"
    )


def execute(given: argparse.Namespace) -> int:
    """Runs, judges and reports."""
    from fedrepro.benchmark.execution.run import rehearse
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.judging.trials import load_trials

    clock = perf_counter()
    if given.others:
        papers = [given.paper, *given.others]
        one_by_one = "; ".join(f"fedrepro run {paper}" for paper in papers)
        raise FedreproError(
            f"one paper a run: {one_by_one}; then one report: fedrepro report {' '.join(papers)}"
        )
    plan = chosen_plan(given, load_paper(given.paper, specs(given)))
    store = store_at(given.store)
    if given.dry_run and given.until_decided:
        trained_until_decided(plan, store, given)
        return 0
    if given.dry_run:
        print("\n".join(rehearse(plan, store, **execution_options(given))))
        return 0
    # Before the training, so that a name that no folder can have costs no work.
    folder = given.out or default_folder(plan, given)
    train = trained_until_decided if given.until_decided else trained
    trials = load_trials(plan, store, train(plan, store, given))
    wall_s = perf_counter() - clock
    report = judge(plan, trials, command=command_line(), wall_s=wall_s)
    return show([report], folder)
