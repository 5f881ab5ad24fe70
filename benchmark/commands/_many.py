"""A report on more papers than one page holds.

Papers share nothing, so worker processes judge one after the other. A worker writes the whole
report of its paper to disk and forgets it; the files are then joined below an overview. So no
process holds more than one judged paper.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from fedrepro.benchmark.commands._judged import publishing, reporting_to, store_at
from fedrepro.benchmark.commands._options import print_skipped
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.processes import cores, end_with, environment_of_workers
from fedrepro.benchmark.judging.scoreboard import Scoreboard, scoreboard
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.problems import InvalidSpecError, Problem

_MOST = 8
"""Processes; each holds torch, a paper and what it has worked out: some 400 MB."""


@dataclass(frozen=True)
class _Task:
    """One paper, how it is judged, and the new folder that its report goes to."""

    paper: str
    root: Path | None
    profile: str
    trials: int | None
    store: Path
    command: str
    started: float
    folder: Path


def report_on(
    ids: Sequence[str],
    given: argparse.Namespace,
    folder: Path,
    *,
    command: str,
    root: Path | None = None,
    jobs: int | None = None,
) -> tuple[list[Scoreboard], dict[str, str]]:
    """Writes the report on many papers to `folder`: their counts, and why which file failed.

    given: profile, trials, store, and papers if they were named. command: as the user gave it.
    root: the folder of all specs. jobs: processes, None for one a core.

    Raises `InvalidSpecError` with all that is wrong in any spec, and other `FedreproError` as for
    one paper; there is no report then.
    """
    ids = _with_profile(ids, given.profile, root, named=bool(given.papers))
    with reporting_to(folder), publishing().replacing(folder, publishing().names()) as aside:
        papers = aside / publishing().PAPERS
        started = time.time()
        tasks = [
            _Task(id, root, given.profile, given.trials, given.store, command, started, papers / id)
            for id in ids
        ]
        judged = _all_judged(tasks, jobs or min(cores(), _MOST))
        boards = {id: board for id, (board, _) in zip(ids, judged, strict=True)}
        failed = publishing().render_overview(boards, aside)
        for task, (_, own) in zip(tasks, judged, strict=True):
            failed |= {f"{task.folder.relative_to(aside)}/{name}": why for name, why in own.items()}
    return list(boards.values()), failed


def _with_profile(
    ids: Iterable[str], profile: str, root: Path | None, *, named: bool
) -> tuple[str, ...]:
    """The papers that have a profile; a paper that was named is kept, and `make_plan` objects.

    Raises `InvalidSpecError` with the mistakes of all specs, so that nothing is judged before.
    """
    found: list[str] = []
    problems: list[Problem] = []
    for id in ids:
        try:
            paper = load_paper(id, root)
        except InvalidSpecError as error:
            problems += error.problems
            continue
        if named or profile in paper.profiles:
            found.append(id)
        else:
            print_skipped(id, profile)
    if problems:
        raise InvalidSpecError(problems)
    if not found:
        raise FedreproError(f"no paper has a profile '{profile}'")
    return tuple(found)


def _all_judged(tasks: Sequence[_Task], jobs: int) -> list[tuple[Scoreboard, dict[str, str]]]:
    if jobs == 1:
        return list(map(_judge, tasks))
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, spawn, initializer=end_with, initargs=(os.getpid(),))
    try:
        with environment_of_workers():
            judged = pool.map(_judge, tasks)
        return list(judged)
    except BrokenProcessPool:
        raise FedreproError(
            "a process that judged papers was ended from outside, perhaps for want of memory"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _judge(task: _Task) -> tuple[Scoreboard, dict[str, str]]:
    """Judges a paper and writes its report; its counts, and why which file failed."""
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.planning.plan import make_plan

    plan = make_plan(load_paper(task.paper, task.root), task.profile, trials=task.trials)
    wall_s = time.time() - task.started
    report = judge(plan, store_at(task.store), command=task.command, wall_s=wall_s)
    task.folder.mkdir(parents=True)
    return scoreboard(report), publishing().render([report], task.folder)
