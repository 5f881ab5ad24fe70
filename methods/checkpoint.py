"""Where a trial can be interrupted: it saves itself there now and then, and goes on from there.

A stage calls `at` between its steps (rounds, batches) with what it needs to go on. Within a long
step `section` marks stretches of work that can be saved by themselves: a step that is begun again
repeats what is cheap and takes from its sections what is not. Random streams need no saving where
they are drawn anew by name (`methods.seeds`); the others are part of what a stage saves.

Whether anything is saved depends on the clock alone, and no number depends on whether it was.
Evidence: `tests/methods/test_checkpoint.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from .checkpoint_tree import n_bytes

Tree = Any
"""What `methods.checkpoint_tree` can take apart."""
Write = Callable[[Mapping[str, Tree]], None]

_SHARE = 20.0
"""Saving takes at most a twentieth of the time, however large the states are."""
_MOST_BYTES = 2 << 30
"""Of finished sections that are held in memory for a step that may be begun again."""


class Section:
    """A stretch of work within a step.

    saved: what an interrupted step had offered here last; None where there is nothing.
    """

    def __init__(self, checkpoint: Checkpoint | None, saved: Tree | None = None) -> None:
        self._checkpoint, self.saved = checkpoint, saved
        self.state: Callable[[], Tree] = lambda: saved

    def offer(self, state: Callable[[], Tree]) -> None:
        """The section may be interrupted here, and would go on from what `state` gives."""
        if self._checkpoint is not None:
            self.state = state
            self._checkpoint.passed()

    def refuse(self) -> None:
        """What was saved, here and in later sections, does not fit and is not used."""
        self.saved, self.state = None, lambda: None
        if self._checkpoint is not None:
            self._checkpoint.forget_from(self)


class Checkpoint:
    """Saves a trial about every `every_s` seconds; one without `write` never does.

    write: takes what is to be saved. saved: what `write` was given last, to go on from.
    """

    def __init__(
        self,
        write: Write | None = None,
        every_s: float = 0.0,
        saved: Mapping[str, Tree] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write, self._every_s, self._clock = write, every_s, clock
        self._saved = saved
        self._state: Callable[[], Tree] | None = None
        self._sections: list[Section] = []
        self._found: list[Tree] = []
        self._is_going_on = False
        self._last = self._seen = clock()
        self._cost = 0.0

    def restored(self) -> Tree | None:
        """What `at` was given when the trial was saved last; None if it begins. Asked once."""
        if self._saved is None:
            return None
        state, self._found = self._saved["state"], list(self._saved["sections"])
        self._saved, self._is_going_on = None, True
        return state

    def at(self, state: Callable[[], Tree]) -> None:
        """A step begins, and could begin again from what `state` gives until the next one does."""
        if not self._is_going_on:
            self._found = []
        self._is_going_on = False
        self._sections = []
        if self._write is not None and self._every_s > 0:
            self._state = state
            self.passed()

    def section(self) -> Section:
        """The next section of the step; steps that are begun again have the same ones."""
        if self._state is None:
            return _UNSAVED
        if sum(n_bytes(one.state()) for one in self._sections) > _MOST_BYTES:
            self._state, self._sections = None, []  # nothing more of this step is saved
            return _UNSAVED
        at = len(self._sections)
        section = Section(self, self._found[at] if at < len(self._found) else None)
        self._sections.append(section)
        return section

    def passed(self) -> None:
        """Saves if the interval would be over at the next place, which takes as long as this."""
        if self._state is None:
            return  # of this step nothing more is saved
        now = self._clock()
        gap, self._seen = now - self._seen, now
        since = now - self._last
        if since + gap >= self._every_s and since >= _SHARE * self._cost:
            self.save()

    def save(self) -> None:
        """Saves now."""
        assert self._write is not None
        assert self._state is not None
        began = self._clock()
        sections = [one.state() for one in self._sections]
        # Those that a step which goes on has not come to yet stay as they were.
        sections += self._found[len(sections) :]
        self._write({"state": self._state(), "sections": sections})
        self._last = self._seen = self._clock()
        self._cost = self._last - began

    def forget_from(self, section: Section) -> None:
        """What was saved of `section` and of later ones is not used."""
        self._found = self._found[: self._sections.index(section)]


_UNSAVED = Section(None)
NEVER = Checkpoint()
"""Saves nothing and goes on from nothing."""
