"""Run a profile and compare it with the recorded baseline."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging import baseline as baselines
from fedrepro.benchmark.judging import comparison
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
    options.folder("--baselines", "folder of baselines (default: results/baselines)",
        default=Path("results/baselines")),
    options.flag("--record", "record these results as the new baseline"),
    options.option("--with-failed", action="append", default=[], metavar="ROW",
        help="with --record: record that trials of this row failed; may be given again"),
    options.flag("--exact", "any changed number is a regression, where versions and processor are "
        "the baseline's"),
    *options.PLACES,
    options.out("default: none is written"),
    *options.EXECUTION,
)  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    """1 if anything has regressed or a trial failed, 2 without a baseline, else 0."""
    if args.record and args.exact:
        raise FedreproError("--record compares nothing: leave out --exact")
    if args.with_failed and not args.record:
        raise FedreproError("--with-failed needs --record")
    # What the last comparison left must not outlive an error of this one.
    for name in regressions.FILES if args.out is not None else ():
        (args.out / name).unlink(missing_ok=True)
    papers, known = [], options.papers(args)
    for paper in known:
        place = baselines.path_for(args.baselines, paper.id, args.profile, args.on)
        if args.papers or args.record or place.exists():
            papers.append(paper)
        else:
            complain(f"{paper.id} has no baseline: left out")
    compared: list[comparison.BaselineCheck] = []
    for path in () if args.papers or args.record else sorted(args.baselines.glob("*.json")):
        old = baselines.load(path) if f"-{args.profile}" in path.stem else None
        if old and old.profile == args.profile and old.paper not in {one.id for one in known}:
            gone = comparison.Movement("spec", str(path), "recorded", "missing", regression=True)
            print(f"{paint('REGRESSED')} {old.paper} {gone.sentence}")
            compared.append(comparison.BaselineCheck(old, 0, (gone,), ()))
    if not papers and not compared:  # a gate that measures nothing must not pass
        raise FedreproError(f"no paper's baseline is in {args.baselines}; record one with --record")
    found = [_one(paper, args) for paper in papers]
    compared += [one for _, one in found if one is not None]
    if args.out is not None:
        from fedrepro.reports.publish import write_report

        if found:
            write_report([report for report, _ in found], args.out)
            print(f"report: {args.out / 'report.html'}")
        for name, render in regressions.FILES.items() if compared else ():
            write_whole(args.out / name, render(compared).encode())
    return int(not all(one.passed for one in compared))


def _one(paper: Paper, args: argparse.Namespace) -> tuple[Report, comparison.BaselineCheck | None]:
    """The report on a paper, and how it compares with its baseline."""
    from fedrepro.benchmark.execution.executors.local import devices_for
    from fedrepro.benchmark.training.training import device_name, versions

    clock = perf_counter()
    path = baselines.path_for(args.baselines, paper.id, args.profile, args.on)
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
        told = [*regressions.of_blind(comparison.blind_cells(recorded, report), recorded)]
        told += _replaced(path, recorded, report) if path.exists() else ()
        baselines.save(path, recorded)
        for line in (f"baseline recorded in {path}", *told):
            print(f"{paper.id}: {line}")
        return report, None
    found = comparison.check(baseline, report, exact=args.exact)
    if report.provenance.versions and args.cluster is None:
        device = device_name(devices_for(args.device)[0])
        here = replace(report.provenance, device=device, versions=versions())
        found = replace(found, stored=comparison.unlike(report.provenance, here))
    print(*regressions.lines(found, paint), sep="\n")
    return report, found


def _replaced(path: Path, new: baselines.Recorded, report: Report) -> Iterator[str]:
    """What regressed against the baseline that is replaced."""
    try:
        old = baselines.load(path)
        worse = {one.where for one in comparison.compare(old, new, report) if one.regression}
        sides = {"cells": {*old.cells}, "claims": {*old.claims}, "tables": {*old.tables}}
        counted = (f"{len(worse & one)} of {len(one)} {what}" for what, one in sides.items())
        yield f"regressed against the baseline that is replaced: {', '.join(counted)}"
    except FedreproError as error:
        yield f"not compared with the baseline that is replaced: {error}"


def _check_failed(report: Report, accepted: Sequence[str]) -> None:
    """Raises `FedreproError` for failed trials of rows that --with-failed does not name."""
    tables = (*report.tables, *report.controls)
    failed = {"|".join(cell.row) for one in tables for cell in one.cells if cell.failed}
    if unnamed := sorted(failed - set(accepted)):
        options = " ".join(f"--with-failed {shlex.quote(row)}" for row in unnamed)
        raise FedreproError(f"trials failed, and nothing is recorded; to record that: {options}")
    if strange := sorted(set(accepted) - failed):
        raise FedreproError(f"--with-failed: no trial of '{strange[0]}' failed")
