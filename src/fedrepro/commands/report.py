"""`fedrepro report`: judges and renders what is stored; trains nothing.

Of more papers than one page holds, worker processes judge one after the other. A worker writes the
whole report of its paper to disk and forgets it; the files are then joined below an overview. So no
process holds more than one judged paper.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.processes import cores, end_with, environment_of_workers
from fedrepro.benchmark.judging.scoreboard import Scoreboard, scoreboard
from fedrepro.benchmark.planning.looks_reached import as_stored
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.folders import Folders
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.store.store import Store
from fedrepro.commands._judged import (
    command_line,
    default_folder,
    folder_of_all,
    print_result,
    publishing,
    show,
    store_at,
)
from fedrepro.commands._options import (
    add_cells,
    add_papers,
    add_places,
    changed_settings,
    chosen_plan,
    papers_with_profile,
    refuse_selection,
    specs,
)
from fedrepro.commands._stored_profile import add_default, choose_profile

HELP = "judge and render what is stored, without training; several papers make one report"
EXAMPLE = "fedrepro report cpcfl mfcl --out results/reports/two-papers"
TOGETHER = 12
"""Papers on one page; five make several MB, and a browser holds a dozen with ease."""
_MOST = 8
"""Processes; each holds torch, a paper and what it has worked out: some 400 MB."""

_Judged = tuple[Scoreboard, list[str]]
"""The counts of a paper, and which files of its report failed and why."""


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
    if len(ids) > TOGETHER:
        folder = given.out or folder_of_all(given.profile)
        return print_result(
            *report_on_many(given, folder, root=root, sets=changed_settings(given)), folder
        )
    command = command_line()
    plans = [chosen_plan(given, paper) for paper in papers_with_profile(given, root)]
    if not plans:
        raise FedreproError(f"no paper has a profile '{given.profile}'")
    folder = given.out or (
        default_folder(plans[0], given) if alone else folder_of_all(given.profile)
    )
    reports = [
        _report(
            *(plan, store, given.trials, given.stale),
            command=command,
            wall_s=time.perf_counter() - clock,
        )
        for plan in plans
    ]
    return show(reports, folder)


def report_on_many(
    given: argparse.Namespace,
    folder: Path,
    *,
    root: Folders = None,
    jobs: int | None = None,
    sets: Sequence[tuple[str, object]] = (),
) -> tuple[list[Scoreboard], list[str]]:
    """Writes the report on many papers to `folder`: their counts, which files failed and why.

    given: papers, profile, trials and store. root: the folders of all specs. jobs: processes, None
    for one a core. sets: changed settings of all papers, by path.

    Raises `InvalidSpecError` with all that is wrong in any spec, and other `FedreproError` as for
    one paper; there is no report then.
    """
    ids = [paper.id for paper in papers_with_profile(given, root)]
    if not ids:
        raise FedreproError(f"no paper has a profile '{given.profile}'")
    publish = publishing()
    with publish.replacing(folder, publish.names()) as aside:
        judge_one = partial(
            _judge,
            papers=aside / publish.PAPERS,
            root=root,
            profile=given.profile,
            trials=given.trials,
            series=given.series,
            store=given.store,
            stale=given.stale,
            command=command_line(),
            sets=sets,
            started=time.time(),
        )
        judged = _all_judged(judge_one, ids, jobs or min(cores(), _MOST))
        boards = [board for board, _ in judged]
        failed: list[str] = publish.render_overview(dict(zip(ids, boards, strict=True)), aside)
        for id, (_, own) in zip(ids, judged, strict=True):
            failed += (f"{publish.PAPERS}/{id}/{sentence}" for sentence in own)
    return boards, failed


def _all_judged(
    judge_one: Callable[[str], _Judged], ids: Sequence[str], jobs: int
) -> list[_Judged]:
    if jobs == 1:
        return list(map(judge_one, ids))
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, spawn, initializer=end_with, initargs=(os.getpid(),))
    try:
        with environment_of_workers():
            judged = pool.map(judge_one, ids)
        return list(judged)
    except BrokenProcessPool:
        raise FedreproError(
            "a process that judged papers was ended from outside, perhaps for want of memory"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _judge(
    id: str,
    *,
    papers: Path,
    root: Folders,
    profile: str,
    trials: int | None,
    series: int | None,
    store: Path,
    stale: bool,
    command: str,
    sets: Sequence[tuple[str, object]],
    started: float,
) -> _Judged:
    """Judges a paper and writes its report to a new folder in `papers`."""
    plan = make_plan(load_paper(id, root), profile, trials=trials, series=series, sets=sets)
    report = _report(
        *(plan, store_at(store), trials, stale), command=command, wall_s=time.time() - started
    )
    (papers / id).mkdir(parents=True)
    return scoreboard(report), publishing().render([report], papers / id)


def _report(
    plan: Plan, store: Store, trials: int | None, stale: bool, *, command: str, wall_s: float
) -> Report:
    from fedrepro.benchmark.judging.as_made import judge_as_made
    from fedrepro.benchmark.judging.judge import judge

    if stale:
        return judge_as_made(plan, store, trials, command=command, wall_s=wall_s)
    return judge(as_stored(plan, store, trials), store, command=command, wall_s=wall_s)
