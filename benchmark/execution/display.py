"""Shows what is trained, and how long it takes: a bar on a terminal, elsewhere a line at times."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ..planning.estimate import duration

TrialName = tuple[str, int]
"""Run key and seed."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 10.0
"""Between lines; each pause is twice the one before, so that the first seconds are not silent."""
_BELIEVED = 0.04
"""The share of the work after which times measured here count as much as the estimates."""
_NAMED = 4
"""Trials that a line names; a cluster trains hundreds at a time."""


@dataclass
class _Running:
    label: str
    done: int = 0
    total: int = 0


@dataclass
class Display:
    """Progress over trials, weighted by estimated seconds; a context manager around training."""

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

    def begin(
        self, seconds: Mapping[TrialName, float], workers: int = 1, is_measured: bool = True
    ) -> None:
        """Trials of so many seconds each begin; is_measured: False if seconds only compare them."""
        self._seconds, self._all_s = seconds, sum(seconds.values())
        self._workers = max(workers, 1)
        self._believed = _BELIEVED * self._all_s if is_measured else 0.0
        self._running: dict[TrialName, _Running] = {}
        self._finished = self._failures = 0
        self._finished_s = 0.0
        self._measured_from: tuple[float, float] | None = None
        self._next_line, self._pause = self.clock(), _FIRST_PAUSE_S

    def started(self, name: TrialName, label: str) -> None:
        """A trial began; a trial that is tried again begins anew."""
        self._running[name] = _Running(label)
        self._show()

    def said(self, name: TrialName, sentence: str) -> None:
        self.say(f"{self._running[name].label}: {sentence}")

    def advanced(self, name: TrialName, done: int, total: int) -> None:
        trial = self._running[name]
        trial.done, trial.total = done, total
        self._show(is_progress=True)

    def ended(self, name: TrialName, failed: bool) -> None:
        """A trial ended, or will never begin."""
        self._running.pop(name, None)
        self._finished += 1
        self._failures += failed
        self._finished_s += self._seconds[name]
        self._show(is_progress=True)

    def seconds_left(self) -> float | None:
        """Estimated seconds until the end; None while nothing can be said.

        They move from the estimates to the pace that is seen since the first round was done, as far
        as there is evidence, so that a wrong estimate shows itself step by step.
        """
        left = max(self._all_s - self._done(), 0.0)
        if self._measured_from is None:
            return left / self._workers if self._believed else None
        began, done_then = self._measured_from
        seen = self._believed + self._done() - done_then
        seconds = self._believed / self._workers + self.clock() - began
        return left * seconds / seen if seen else None

    def line(self) -> str:
        words = [f"{self._finished}/{len(self._seconds)} trials"]
        if self._failures:
            words.append(f"{self._failures} failed")
        named = list(self._running.values())[:_NAMED]
        words += [f"{trial.label} {trial.done}/{trial.total or '?'}" for trial in named]
        if len(self._running) > len(named):
            words.append(f"{len(self._running) - len(named)} more")
        left = self.seconds_left() if self._finished < len(self._seconds) else None
        return " · ".join(words + ([] if left is None else [f"about {duration(left)} left"]))

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._bar.stop()
        if self._bar.disable and self._seconds and kind is None:
            self.say(self.line())

    def _done(self) -> float:
        running = self._running.items()
        parts = (self._seconds[name] * one.done / (one.total or 1) for name, one in running)
        return self._finished_s + sum(parts)

    def _show(self, is_progress: bool = False) -> None:
        if is_progress and self._measured_from is None:
            self._measured_from = self.clock(), self._done()
        if not self._bar.disable:
            done = self._done()
            self._bar.update(self._task, completed=done, total=self._all_s, description=self.line())
        elif self.clock() >= self._next_line:
            self._next_line = self.clock() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
            self.say(self.line())
