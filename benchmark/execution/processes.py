"""What worker processes here have in common: one thread each, and no life of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def environment_of_workers() -> Iterator[None]:
    """For starting workers: one thread each, set before torch is imported; Ctrl-C is the driver's.

    A blocked signal stays blocked in the children and only waits in the driver.
    """
    wanted = dict.fromkeys(_THREAD_VARIABLES, "1") | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    before = {name: os.environ.get(name) for name in wanted}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def die_with_driver() -> None:
    """For a worker: ends with the driver, however that ends, amid its work if need be."""
    threading.Thread(target=_wait_and_end, daemon=True).start()


def _wait_and_end() -> None:
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    os._exit(1)
