"""A report on more papers than one page holds: each is read, judged and rendered by itself.

Papers share nothing, so worker processes take them in turn, and none holds more than one judged
paper. What a process works out once (costs of networks, sources) takes it as long as a dozen
papers, so that few papers are left to this one process. Code is loaded once, by the process that
workers are forked from; the driver loads neither torch nor anything else that only they need.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import multiprocessing
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmark.commands._judged import TOGETHER, parts, reporting_to, store_at
from benchmark.errors import FedreproError
from benchmark.processes import cores, die_with_driver, environment_of_workers
from benchmark.scoreboard import Scoreboard, scoreboard
from benchmark.spec.problems import InvalidSpecError, Problem

_MOST = 8
"""Processes, each of which holds a paper and what it has worked out: some 100 MB."""
_LOADED = "benchmark.commands._loaded"
"""The module that imports what judging and writing need."""
_NEW_OBJECTS = 100_000
"""So many more than there were are looked through for garbage; Python's own number is 700."""


@dataclass(frozen=True)
class _Task:
    """One paper, and where its parts go; only_read: others are wrong, so only mistakes count."""

    id: str
    place: Path
    root: Path | None
    profile: str
    trials: int | None
    store: Path
    command: str
    started: float
    must_have_profile: bool
    only_read: bool = False


def report_on(
    ids: Sequence[str],
    given: argparse.Namespace,
    folder: Path,
    *,
    command: str,
    root: Path | None = None,
    jobs: int | None = None,
) -> list[Scoreboard]:
    """Writes the report on many papers to `folder`; the scoreboards of those that it holds.

    given: profile, trials, store, and papers if they were named. command: as the user gave it.
    root: the folder of all specs. jobs: processes, None for as many as pay.

    Raises `InvalidSpecError` with all that is wrong in any spec, and other `FedreproError` as for
    one paper; nothing is written then.
    """
    if jobs is None:
        jobs = min(cores(), _MOST, len(ids) // TOGETHER)
    problems: list[Problem] = []
    places: list[Path] = []
    boards: list[Scoreboard] = []
    started = time.time()
    with reporting_to(folder), TemporaryDirectory(dir=folder, prefix=".parts-") as unfinished:

        def task(i: int) -> _Task:
            return _Task(
                id=ids[i],
                place=Path(unfinished, str(i)),
                root=root,
                profile=given.profile,
                trials=given.trials,
                store=given.store,
                command=command,
                started=started,
                must_have_profile=bool(given.papers),
                only_read=bool(problems),
            )

        for i, found in enumerate(_in_turn(task, len(ids), jobs)):
            if isinstance(found, Scoreboard):
                places.append(Path(unfinished, str(i)))
                boards.append(found)
            elif found is not None:
                problems += found
            elif not problems:
                print(f"{ids[i]} has no profile '{given.profile}': left out", file=sys.stderr)
        if problems:
            raise InvalidSpecError(problems)
        if not boards:
            raise FedreproError(f"no paper has a profile '{given.profile}'")
        parts().join(places, boards, folder)
    return boards


Found = Scoreboard | tuple[Problem, ...] | None


def _in_turn(task: Callable[[int], _Task], count: int, jobs: int) -> Iterator[Found]:
    """What came of every task, in order; a task is made when a process is about to be free."""
    if jobs <= 1:
        importlib.import_module(_LOADED)
        before = gc.get_threshold()
        collect_rarely()
        try:
            yield from (_perform(task(i)) for i in range(count))
        finally:
            gc.set_threshold(*before)
            gc.unfreeze()
        return
    context = multiprocessing.get_context("forkserver")
    # Loaded once and shared by all workers.
    context.set_forkserver_preload([__name__, _LOADED])
    pool = ProcessPoolExecutor(jobs, context, _begin)
    waiting: deque[Future[Found]] = deque()
    try:
        for i in range(count):
            with environment_of_workers():
                waiting.append(pool.submit(_perform, task(i)))
            if len(waiting) > 2 * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise FedreproError(
            "a process that judged papers was ended from outside, perhaps for want of memory"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    die_with_driver()
    collect_rarely()


def _perform(task: _Task) -> Found:
    """Judges a paper and writes its parts; its mistakes, or None where it lacks the profile."""
    from benchmark.judge import judge
    from benchmark.plan import make_plan
    from benchmark.spec.load import load_paper

    try:
        paper = load_paper(task.id, task.root)
    except InvalidSpecError as found:
        return found.problems
    if task.only_read or (not task.must_have_profile and task.profile not in paper.profiles):
        return None
    plan = make_plan(paper, task.profile, trials=task.trials)
    store = store_at(task.store)
    report = judge(plan, store, command=task.command, wall_s=time.time() - task.started)
    parts().write_parts(report, task.place)
    return scoreboard(report)


def collect_rarely() -> None:
    """For a process that makes a report on many papers: garbage in cycles is seldom looked for.

    A paper leaves next to none, and looking through it, and through the hundreds of thousands of
    objects of libraries that are there to stay, took a fifth of the time of judging.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
