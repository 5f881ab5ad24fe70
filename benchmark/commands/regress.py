"""`fedrepro regress`: the reduced profile against the recorded baseline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from fedrepro.benchmark.commands._judged import command_line, store_at, trained, write_report
from fedrepro.benchmark.commands._options import (
    add_execution,
    add_papers,
    add_places,
    folder,
    specs,
)
from fedrepro.benchmark.commands._terminal import paint
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.scoreboard import scoreboard
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.benchmark.spec.model import Paper

HELP = "run a profile and compare it with the recorded baseline"
EXAMPLE = "fedrepro regress cpcfl --record"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers, profile, where baselines lie, and whether to record."""
    add_papers(parser)
    parser.add_argument("--profile", metavar="PROFILE", default="reduced", help="default: reduced")
    parser.add_argument("--on", metavar="SET", help="put the profile on this data set")
    parser.add_argument(
        "--baselines",
        type=folder,
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
    """1 if anything has regressed or a trial failed, 2 without a baseline, else 0.

    With --out it writes a report as well.
    """
    papers = load_papers(specs(given), ids=given.papers)
    if not given.papers and not given.record:
        papers = _with_baseline(papers, given)
    found = [_one(paper, given) for paper in papers]
    if given.out is not None:
        write_report([report for report, _ in found], given.out)
        print(f"report: {given.out / 'report.html'}")
    return max(code for _, code in found)


def _with_baseline(papers: Sequence[Paper], given: argparse.Namespace) -> tuple[Paper, ...]:
    """The papers that have a recorded baseline; others are named and left out.

    Raises `FedreproError` if none has: a gate that measures nothing must not pass.
    """
    from fedrepro.benchmark.judging import baseline

    found = []
    for paper in papers:
        path = baseline.path_for(given.baselines, paper.id, given.profile, given.on)
        if path.exists():
            found.append(paper)
        else:
            print(f"{paper.id} has no baseline {path}: left out", file=sys.stderr)
    if not found:
        raise FedreproError(f"no paper has a baseline in {given.baselines}; record one first")
    return tuple(found)


def _one(paper: Paper, given: argparse.Namespace) -> tuple[Report, int]:
    from fedrepro.benchmark.judging import baseline
    from fedrepro.benchmark.judging.judge import judge

    clock = perf_counter()
    path = baseline.path_for(given.baselines, paper.id, given.profile, given.on)
    recorded = None if given.record else baseline.load(path)
    plan = make_plan(paper, given.profile, on=given.on)
    store = store_at(given.store)
    not_run = trained(plan, store, given)
    report = judge(
        plan,
        store,
        command=command_line(),
        wall_s=perf_counter() - clock,
        not_run=not_run,
        audit=given.out is not None,
    )
    failed = scoreboard(report).failed
    for trial in failed:
        print(f"{paper.id}: FAILED, {trial}")
    if recorded is None:
        baseline.save(path, report)
        print(f"{paper.id}: baseline recorded in {path}")
        return report, int(bool(failed))
    movements = baseline.compare(recorded, report)
    for line in baseline.lines(paper.id, movements, paint):
        print(line)
    return report, int(bool(failed) or any(movement.regression for movement in movements))
