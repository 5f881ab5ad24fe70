"""Where a trial can be interrupted: it saves itself there now and then, and goes on from there.

A stage calls `at` before each of its steps: rounds, or epochs of one training. Random streams that
are named by their step (`methods.seeds`) need no saving; the others are part of what a stage saves.
Whether anything is saved depends on the time alone, and no result depends on whether it was.
Evidence: `tests/methods/test_checkpoints.py`.
"""

import time
from collections.abc import Callable, Mapping

from .checkpoint_tree import Tree

Write = Callable[[Mapping[str, Tree]], None]

_SHARE = 20.0
"""Saving takes at most a twentieth of the time, however large the states are."""


class Checkpoint:
    """Saves a trial by `write` before a step once `every_s` have passed; `saved`: the last one."""

    def __init__(
        self,
        write: Write | None = None,
        every_s: float = 0.0,
        saved: Mapping[str, Tree] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write if every_s > 0 else None
        self._every_s, self._saved, self._clock = every_s, saved, clock
        self._last, self._cost = clock(), 0.0

    def restored(self) -> Tree | None:
        """What `at` was given when the trial was saved last; None if it begins."""
        return None if self._saved is None else self._saved["state"]

    def at(self, state: Callable[[], Tree]) -> None:
        """A step begins, and could begin again from what `state` gives."""
        began = self._clock()
        if self._write is None or began - self._last < max(self._every_s, _SHARE * self._cost):
            return
        self._write({"state": state()})
        self._last = self._clock()
        self._cost = self._last - began


NEVER = Checkpoint()
"""Saves nothing and goes on from nothing."""
