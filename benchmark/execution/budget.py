"""Ends training after a time as Ctrl-C does, without a word."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _BudgetSpentError(BaseException):
    """No `Exception`, so that no handler of errors takes it for one."""


@contextmanager
def ending_after(seconds: float) -> Iterator[None]:
    """Ends the block after so many seconds; infinite for never. In the main thread alone."""
    if math.isinf(seconds):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _BudgetSpentError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _BudgetSpentError:
        pass
    finally:
        signal.signal(signal.SIGALRM, before)
