"""`fedrepro regress`: the reduced profile against the recorded baseline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.scoreboard import scoreboard
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.files import read_whole, write_whole
from fedrepro.commands._judged import command_line, store_at, trained
from fedrepro.commands._options import (
    add_execution,
    add_papers,
    add_places,
    folder,
    specs,
)
from fedrepro.commands._terminal import paint

if TYPE_CHECKING:
    from fedrepro.benchmark.judging.regressions import Comparison

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
    parser.add_argument(
        "--json", action="store_true", help="print what moved as JSON, and the lines as errors are"
    )
    parser.add_argument(
        "--badge", type=Path, metavar="FILE", help="write a badge for shields.io (docs/ci.md)"
    )
    add_places(parser, "default: none is written")
    add_execution(parser)


def execute(given: argparse.Namespace) -> int:
    """1 if anything has regressed or a trial failed, 2 without a baseline, else 0.

    With --out it writes a report as well, and what moved as JSON, JUnit XML and Markdown.

    Raises `FedreproError` for --record with what only a comparison gives.
    """
    if given.record and (given.json or given.badge):
        raise FedreproError("--record compares nothing: leave out --json and --badge")
    # What the last comparison left must not outlive an error of this one.
    if given.badge is not None:
        _put_badge(given.badge, [])
    for name in _shown().FILES if given.out is not None else ():
        left: Path = given.out / name
        if left.is_file() and not left.is_symlink():  # a link is somebody else's
            left.unlink()
    papers = load_papers(specs(given), ids=given.papers)
    if not given.papers and not given.record:
        papers = _with_baseline(papers, given)
    found = [_one(paper, given) for paper in papers]
    compared = [comparison for _, comparison, _ in found if comparison is not None]
    if given.out is not None:
        from fedrepro.reports.publish import write_report

        write_report([report for report, _, _ in found], given.out)
        for name, text in _shown().files(compared, command_line()).items() if compared else ():
            write_whole(given.out / name, text.encode())
        _say(f"report: {given.out / 'report.html'}", given)
    if given.badge is not None:
        _put_badge(given.badge, compared)
    if given.json:
        print(_shown().json_text(compared), end="")
    return max(code for _, _, code in found)


def _shown() -> ModuleType:
    """The module `reports.regressions`, imported when something was compared."""
    from fedrepro.reports import regressions

    return regressions


def _put_badge(path: Path, compared: Sequence[Comparison]) -> None:
    """Writes a badge in the place of another one or of nothing.

    Raises `FedreproError` where anything else lies: a name given by mistake costs nobody a file.
    """
    there = None if path.is_symlink() else read_whole(path)
    if path.is_symlink() or (there is not None and not _shown().is_badge(there)):
        raise FedreproError(f"--badge: {path} is there already and is no badge")
    write_whole(path, _shown().badge(compared).encode())


def _say(line: str, given: argparse.Namespace) -> None:
    """Prints a line; where standard output is for a program, to standard error."""
    print(line, file=sys.stderr if given.json else sys.stdout)


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


def _one(paper: Paper, given: argparse.Namespace) -> tuple[Report, Comparison | None, int]:
    from fedrepro.benchmark.judging import baseline
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.judging.regressions import comparison

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
        _say(f"{paper.id}: FAILED, {trial}", given)
    if recorded is None:
        baseline.save(path, report)
        print(f"{paper.id}: baseline recorded in {path}")
        return report, None, int(bool(failed))
    found = comparison(recorded, report)
    for line in baseline.lines(paper.id, found.movements, paint):
        _say(line, given)
    return report, found, int(not found.passed)
