"""Worker processes on this machine, which end when their driver ends, and a process's timer."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType

_LOOK_EVERY_S = 1.0
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def environment_of_workers() -> Iterator[None]:
    """Variables and signals for a block that starts workers.

    The number of threads must be set before torch is imported. Nothing is imported from the working
    folder. SIGINT is blocked: workers inherit that, and here it waits until the block has ended. A
    spawned worker runs the main module of its parent once more. In a script without `if __name__ ==
    "__main__"` each would start workers, too. So they find an empty main module."""
    wanted = dict.fromkeys(_THREAD_VARIABLES, "1")
    wanted |= {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONSAFEPATH": "1"}
    before = {name: os.environ.get(name) for name in wanted}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(wanted)
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name in wanted:
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if value is not None})
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def end_with(driver: int) -> None:
    """Has this process end when `driver`, which started it, has ended, however that ended."""

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(_LOOK_EVERY_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def alarm(seconds: float | None, error: BaseException) -> Iterator[None]:
    """Raises `error` in a block of the main thread that takes longer; never for None, infinity."""
    if seconds is None or math.isinf(seconds):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
