"""Clients that do not share steps, trained at the same time: a thread each, one core a thread.

Threads, because torch lets go of Python's lock in its operators and computes a backward pass in
the thread that asks for it. What a chunk of clients computes does not depend on the others, so the
numbers are the same to the last bit. Processes with shared weights were tried too, and two threads
within each operator: `docs/benchmarks.md`.
Evidence: `tests/methods/test_spread.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")


def for_each(work: Callable[[Item], None], items: Sequence[Item], threads: int) -> None:
    """Calls `work` once on every item, at most `threads` at the same time, each on one core.

    Raises what a call raised, the first in order; calls that have not begun are then left out.
    """
    if threads < 2 or len(items) < 2:
        for item in items:
            work(item)
        return
    cores = torch.get_num_threads()
    pool = ThreadPoolExecutor(
        min(threads, len(items)), initializer=torch.set_num_threads, initargs=(1,)
    )
    try:
        for begun in [pool.submit(work, item) for item in items]:
            begun.result()
    finally:
        pool.shutdown(cancel_futures=True)
        # A new thread of torch's begins with what the last thread was told.
        torch.set_num_threads(cores)
