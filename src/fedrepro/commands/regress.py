"""`fedrepro regress`: the reduced profile against the recorded baseline."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging import comparison
from fedrepro.benchmark.judging.scoreboard import scoreboard
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.benchmark.spec.model import Paper
from fedrepro.commands._judged import command_line, store_at, trained
from fedrepro.commands._options import (
    add_execution,
    add_papers,
    add_places,
    folder,
    specs,
)
from fedrepro.commands._terminal import complain, paint
from fedrepro.reports import regressions

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

    Raises `FedreproError` for --record with what only a comparison gives, and without a baseline.
    """
    if given.record and (given.json or given.badge):
        raise FedreproError("--record compares nothing: leave out --json and --badge")
    # What the last comparison left must not outlive an error of this one.
    if given.badge is not None:
        _write(given.badge, regressions.badge([]))
    for name in regressions.FILES if given.out is not None else ():
        (given.out / name).unlink(missing_ok=True)
    papers = load_papers(specs(given), ids=given.papers)
    if not given.papers and not given.record:
        for paper in papers:
            if not _place(paper, given).exists():
                print(f"{paper.id} has no baseline: left out", file=sys.stderr)
        papers = tuple(paper for paper in papers if _place(paper, given).exists())
    if not papers:  # a gate that measures nothing must not pass
        raise FedreproError(f"no paper has a baseline in {given.baselines}; record one first")
    found = [_one(paper, given) for paper in papers]
    compared = [one for _, one, _ in found if one is not None]
    if given.out is not None:
        from fedrepro.reports.publish import write_report

        write_report([report for report, _, _ in found], given.out)
        for name, text in regressions.files(compared, command_line()).items() if compared else ():
            _write(given.out / name, text)
        _say(f"report: {given.out / 'report.html'}", given)
    if given.badge is not None:
        _write(given.badge, regressions.badge(compared))
    if given.json:
        print(regressions.json_text(compared), end="")
    return max(code for _, _, code in found)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def _say(line: str, given: argparse.Namespace) -> None:
    """Prints a line; where standard output is for a program, to standard error."""
    print(line, file=sys.stderr if given.json else sys.stdout)


def _place(paper: Paper, given: argparse.Namespace) -> Path:
    return comparison.path_for(given.baselines, paper.id, given.profile, given.on)


def _one(
    paper: Paper, given: argparse.Namespace
) -> tuple[Report, comparison.BaselineCheck | None, int]:
    """The report on a paper, how it compares with its baseline, and the exit code."""
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.judging.trials import load_trials

    clock, path = perf_counter(), _place(paper, given)
    baseline = None if given.record else comparison.load(path)
    if baseline is not None and baseline.schema < comparison.SCHEMA:
        complain(f"{path} is of older rules: values are compared, not words; record it again")
    plan = make_plan(paper, given.profile, on=given.on)
    store = store_at(given.store)
    trials = load_trials(plan, store, trained(plan, store, given))
    report = judge(
        plan,
        trials,
        command=command_line(),
        wall_s=perf_counter() - clock,
        audit=given.out is not None,
    )
    failed = scoreboard(report).failed
    for trial in failed:
        _say(f"{paper.id}: FAILED, {trial}", given)
    if baseline is None:
        comparison.save(path, comparison.recorded(report))
        print(f"{paper.id}: baseline recorded in {path}")
        return report, None, int(bool(failed))
    found = comparison.check(baseline, report)
    for line in regressions.lines(found, paint):
        _say(line, given)
    return report, found, int(not found.passed)
