"""A limit of time for what must not hang."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def patience(seconds: int = 30) -> Iterator[None]:
    """Fails what takes longer, also where it waits for the other end of a pipe."""

    def late(signum: int, frame: object) -> None:
        raise AssertionError("hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
