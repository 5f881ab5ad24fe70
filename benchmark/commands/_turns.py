"""Worker processes that take papers in turn, which have nothing to do with one another."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.processes import die_with_driver, environment_of_workers

Task = TypeVar("Task")
Found = TypeVar("Found")

_NEW_OBJECTS = 100_000
"""So many more than there were are looked through for garbage; Python's own number is 700."""


def in_turn(
    work: Callable[[Task], Found], tasks: Iterable[Task], jobs: int, module: str | None = None
) -> Iterator[Found]:
    """What came of every task, in order; a task is asked for when a process is about to be free.

    jobs: processes; this one alone does the work where there is one. module: imports all that the
    work needs, once, in the process that the others are forked from; None where it needs little.

    Raises what `work` raises, and `FedreproError` if a process is ended from outside.
    """
    if jobs <= 1:
        if module is not None:
            importlib.import_module(module)
        before = gc.get_threshold()
        collect_rarely()
        try:
            yield from map(work, tasks)
        finally:
            gc.set_threshold(*before)
            gc.unfreeze()
        return
    # The server that others are forked from stays, with what it has loaded first.
    context = multiprocessing.get_context("spawn" if module is None else "forkserver")
    if module is not None:
        context.set_forkserver_preload([__name__, module])
    pool = ProcessPoolExecutor(jobs, context, _begin)
    waiting: deque[Future[Found]] = deque()
    try:
        for task in tasks:
            with environment_of_workers():
                waiting.append(pool.submit(work, task))
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


def collect_rarely() -> None:
    """For a process that makes a report on many papers: garbage in cycles is seldom looked for.

    A paper leaves next to none, and looking through it, and through the hundreds of thousands of
    objects of libraries that are there to stay, took a fifth of the time of judging.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
