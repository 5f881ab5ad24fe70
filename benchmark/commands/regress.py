"""`fedrepro regress`: the reduced profile against the recorded baseline."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from benchmark.commands._options import add_execution, add_papers, add_places

HELP = "run a profile and compare it with the recorded baseline"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers, profile, where baselines lie, and whether to record."""
    add_papers(parser)
    parser.add_argument("--profile", default="reduced", help="default: reduced")
    parser.add_argument("--on", metavar="SET", help="put the profile on this data set")
    parser.add_argument(
        "--baselines",
        type=Path,
        default=Path("results/baselines"),
        metavar="DIR",
        help="where baselines lie (default: results/baselines)",
    )
    parser.add_argument(
        "--record", action="store_true", help="record these results as the new baseline"
    )
    add_places(parser)
    add_execution(parser)


def execute(given: argparse.Namespace) -> int:
    """1 if anything has regressed, 2 without a baseline, else 0."""
    from benchmark.commands._options import chosen_papers

    return max(_one(paper.id, given) for paper in chosen_papers(given.papers))


def _one(paper: str, given: argparse.Namespace) -> int:
    from benchmark import baseline
    from benchmark.commands._judged import store_at, trained
    from benchmark.judge import judge
    from benchmark.plan import make_plan
    from benchmark.spec.load import load_paper

    clock = perf_counter()
    path = baseline.path_for(given.baselines, paper, given.profile, given.on)
    recorded = None if given.record else baseline.load(path)
    plan = make_plan(load_paper(paper), given.profile, on=given.on)
    store = store_at(given.store)
    not_run = trained(plan, store, given)
    report = judge(
        plan,
        store,
        command=f"fedrepro regress {paper}",
        wall_s=perf_counter() - clock,
        not_run=not_run,
    )
    if recorded is None:
        baseline.save(path, report)
        print(f"{paper}: baseline recorded in {path}")
        return 0
    movements = baseline.compare(recorded, report)
    for movement in movements:
        print(("REGRESSED " if movement.regression else "moved     ") + movement.sentence)
    regressed = sum(movement.regression for movement in movements)
    print(f"{paper}: {regressed} regressed, {len(movements) - regressed} moved within tolerance")
    return 1 if regressed else 0
