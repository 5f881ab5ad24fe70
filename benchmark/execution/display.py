"""Shows what is trained, and how long it takes: a bar on a terminal, elsewhere a line at times."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ..planning.estimate import duration

TrialName = tuple[str, int]  # run key and seed
_EVERY_S = 10.0  # between lines
_NAMED = 4  # trials that a line names; a cluster trains hundreds at a time


@dataclass
class Display:
    """Progress over trials, weighted by estimated seconds; a context manager around training.
    The time left is the time taken, times what is left by what is done of all that was expected."""

    console: Console = field(default_factory=lambda: Console(stderr=True, highlight=False))
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._bar = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)
        self.begin({})

    def say(self, sentence: str) -> None:
        self.console.print(sentence, markup=False, soft_wrap=True)

    def begin(self, seconds: Mapping[TrialName, float]) -> None:
        """Trials begin of which each takes about so many seconds, in any unit."""
        self._seconds, self._all_s, self._ended_s = seconds, sum(seconds.values()), 0.0
        self._labels = dict[TrialName, str]()
        self._rounds = dict[TrialName, tuple[int, int]]()
        self._finished = self._failures = 0
        self._began = self._next_line = self.clock()

    def started(self, name: TrialName, label: str) -> None:
        """A trial began; one that is tried again begins again."""
        self._labels[name], self._rounds[name] = label, (0, 0)
        self._show()

    def said(self, name: TrialName, sentence: str) -> None:
        self.say(f"{self._labels[name]}: {sentence}")

    def advanced(self, name: TrialName, done: int, total: int) -> None:
        self._rounds[name] = done, total
        self._show()

    def ended(self, name: TrialName, failed: bool) -> None:
        """A trial ended, or will never begin."""
        self._rounds.pop(name, None)
        self._finished += 1
        self._failures += failed
        self._ended_s += self._seconds[name]
        self._show()

    def seconds_left(self) -> float | None:
        """Seconds until the end; None while no trial has finished."""
        if not self._finished:
            return None  # a start takes long beside the first rounds
        done_s = self._done_s()
        return (self._all_s - done_s) * (self.clock() - self._began) / done_s

    def _done_s(self) -> float:
        """Expected seconds of trials that ended, and of what others have done."""
        parts = ((self._seconds[name], n, total) for name, (n, total) in self._rounds.items())
        return self._ended_s + sum(seconds * n / (total or 1) for seconds, n, total in parts)

    def line(self) -> str:
        words = [f"{self._finished}/{len(self._seconds)} trials"]
        if self._failures:
            words.append(f"{self._failures} failed")
        named = list(self._rounds.items())[:_NAMED]
        words += [f"{self._labels[name]} {n}/{total or '?'}" for name, (n, total) in named]
        if len(self._rounds) > len(named):
            words.append(f"{len(self._rounds) - len(named)} more")
        left = self.seconds_left() if self._finished < len(self._seconds) else None
        return " · ".join(words + ([] if left is None else [f"about {duration(left)} left"]))

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._bar.stop()
        if self._bar.disable and self._seconds and kind is None:
            self.say(self.line())

    def _show(self) -> None:
        if not self._bar.disable:
            done_s, shown = self._done_s(), self.line()
            self._bar.update(self._task, completed=done_s, total=self._all_s, description=shown)
        elif self.clock() >= self._next_line:
            self._next_line = self.clock() + _EVERY_S
            self.say(self.line())
