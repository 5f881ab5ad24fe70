"""Run a profile and compare it with the recorded baseline."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging import baseline as baselines
from fedrepro.benchmark.judging.comparison import BaselineCheck, blind_cells, check
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.files import write_whole
from fedrepro.commands import _options as options
from fedrepro.commands._judged import judged, store_at, trained
from fedrepro.commands._terminal import complain, paint
from fedrepro.reports import regressions
from fedrepro.reports.scoreboard import failed_trials

EXAMPLE = "fedrepro regress cpcfl --record"
ARGUMENTS = (
    *options.PAPERS,
    options.profile(),
    options.option("--on", metavar="SET", help="put the profile on this data set"),
    options.folder(
        "--baselines",
        "folder of baselines (default: results/baselines)",
        default=Path("results/baselines"),
    ),
    options.flag("--record", "record these results as the new baseline"),
    options.option(
        "--with-failed",
        action="append",
        default=[],
        metavar="ROW",
        help="with --record: record that trials of this row failed; may be given again",
    ),
    options.flag(
        "--exact",
        "any changed number is a regression, where versions and processor are the baseline's",
    ),
    *options.PLACES,
    options.out("default: none is written"),
    *options.EXECUTION,
)


def execute(args: argparse.Namespace) -> int:
    """1 if anything has regressed or a trial failed, 2 without a baseline, else 0."""
    if args.record and args.exact:
        raise FedreproError("--record compares nothing: leave out --exact")
    if args.with_failed and not args.record:
        raise FedreproError("--with-failed needs --record")
    # What the last comparison left must not outlive an error of this one.
    for name in regressions.FILES if args.out is not None else ():
        (args.out / name).unlink(missing_ok=True)
    papers = []
    for paper in options.papers(args):
        if args.papers or args.record or _place(paper, args).exists():
            papers.append(paper)
        else:
            complain(f"{paper.id} has no baseline: left out")
    if not papers:  # a gate that measures nothing must not pass
        said = f"no paper has a baseline in {args.baselines}; record one with --record"
        raise FedreproError(said)
    found = [_one(paper, args) for paper in papers]
    compared = [one for _, one, _ in found if one is not None]
    if args.out is not None:
        from fedrepro.reports.publish import write_report

        write_report([report for report, _, _ in found], args.out)
        for name, render in regressions.FILES.items() if compared else ():
            write_whole(args.out / name, render(compared).encode())
        print(f"report: {args.out / 'report.html'}")
    return max(code for _, _, code in found)


def _place(paper: Paper, args: argparse.Namespace) -> Path:
    return baselines.path_for(args.baselines, paper.id, args.profile, args.on)


def _one(paper: Paper, args: argparse.Namespace) -> tuple[Report, BaselineCheck | None, int]:
    """The report on a paper, how it compares with its baseline, and the exit code."""
    clock, path = perf_counter(), _place(paper, args)
    baseline = None if args.record else baselines.load(path)
    where = {"data_dir": args.data_dir, "download": args.download}
    plan = make_plan(paper, args.profile, on=args.on, **where)
    store = store_at(args.store)
    not_run = trained(plan, store, args)
    report = judged(plan, store, not_run, since=clock, audit=args.out is not None)
    for trial in failed_trials(report):
        print(f"{paper.id}: FAILED, {trial}")
    if baseline is None:
        _check_failed(report, args.with_failed)
        recorded = baselines.recorded(report)
        blind = blind_cells(recorded, report)
        baselines.save(path, recorded)
        for told in (f"baseline recorded in {path}", *regressions.of_blind(blind, recorded)):
            print(f"{paper.id}: {told}")
        return report, None, 0
    found = check(baseline, report, exact=args.exact)
    for line in regressions.lines(found, paint):
        print(line)
    return report, found, int(not found.passed)


def _check_failed(report: Report, accepted: Sequence[str]) -> None:
    """Raises `FedreproError` for failed trials of rows that --with-failed does not name."""
    tables = (*report.tables, *report.controls)
    failed = {"|".join(cell.row) for one in tables for cell in one.cells if cell.failed}
    if unnamed := sorted(failed - set(accepted)):
        options = " ".join(f"--with-failed {shlex.quote(row)}" for row in unnamed)
        raise FedreproError(f"trials failed, and nothing is recorded; to record that: {options}")
    if strange := sorted(set(accepted) - failed):
        raise FedreproError(f"--with-failed: no trial of '{strange[0]}' failed")
