"""Shows what is being trained and how long it will take.

A terminal gets bars. Anything else (a file, a log, a pipe) gets one clean line now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Bars

from ..planning.summary import duration

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 10.0
"""Between lines; each pause is twice the one before, so that the first seconds are not silent."""
_BELIEVED = 0.04
"""The share of the work after which times measured here count as much as the estimates."""
_NAMED, _DRAWN = 4, 16
"""Trials that a line names and a terminal draws; a cluster trains hundreds at a time."""


@dataclass
class Progress:
    """Progress over trials, weighted by estimated seconds; a context manager around training."""

    console: Console = field(default_factory=lambda: Console(stderr=True, highlight=False))
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._bars = Bars(
            BarColumn(bar_width=24),
            TextColumn("{task.fields[counted]}"),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._running: dict[tuple[str, int], TaskID] = {}
        self._all = self._bars.add_task("", total=None, counted="")
        self.begin(0, 0.0)

    def say(self, sentence: str) -> None:
        """Prints one line that stays."""
        self.console.print(sentence, markup=False, soft_wrap=True)

    def begin(self, trials: int, weight: float, workers: int = 1, is_measured: bool = True) -> None:
        """Training of so many trials, of so many estimated seconds in all, begins now.

        is_measured: False if the seconds only compare the trials with each other.
        """
        self._trials, self._weight, self._workers = trials, weight, max(workers, 1)
        self._believed = _BELIEVED * weight if is_measured else 0.0
        self._finished = self._failures = 0
        self._finished_weight = 0.0
        self._measured_from: tuple[float, float] | None = None
        self._next_line, self._pause = self.clock(), _FIRST_PAUSE_S

    def started(self, name: tuple[str, int], label: str, weight: float) -> None:
        """A trial began; a trial that is tried again begins anew."""
        self._forget(name)
        drawn = len(self._running) < _DRAWN
        self._running[name] = self._bars.add_task(
            label, total=None, visible=drawn, weight=weight, counted="0/?"
        )
        self._show()

    def advanced(self, name: tuple[str, int], done: int, total: int) -> None:
        """So many of so many rounds of a trial are done."""
        if name in self._running:
            bar, counted = self._running[name], f"{done}/{total or '?'}"
            self._bars.update(bar, completed=done, total=total or None, counted=counted)
            self._measure()
        self._show()

    def ended(self, name: tuple[str, int], weight: float, failed: bool) -> None:
        """A trial ended, or will never begin."""
        self._forget(name)
        self._finished += 1
        self._failures += failed
        self._finished_weight += weight
        self._measure()
        self._show()

    def seconds_left(self) -> float | None:
        """Estimated seconds until the end; None while nothing can be said.

        They move from what the weights say to the pace that is seen, as far as there is evidence,
        so that a wrong estimate shows itself step by step. Time before the first round that is done
        shows only how workers start, and is left out.
        """
        if self._weight <= 0:
            return None
        done = self._done()
        left = max(self._weight - done, 0.0)
        if self._measured_from is None:
            return left / self._workers if self._believed else None
        began, done_then = self._measured_from
        seen = self._believed + done - done_then
        seconds = self._believed / self._workers + self.clock() - began
        return left * seconds / seen if seen else None

    def line(self) -> str:
        """The state in one line."""
        words = [f"{self._finished}/{self._trials} trials"]
        if self._failures:
            words.append(f"{self._failures} failed")
        named = self._trained()[:_NAMED]
        words += [f"{trial.description} {trial.fields['counted']}" for trial in named]
        if len(self._running) > len(named):
            words.append(f"{len(self._running) - len(named)} more")
        return " · ".join(words + self._ahead())

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._bars.stop()
        if self._bars.disable and self._trials and kind is None:
            self.say(self.line())

    def _done(self) -> float:
        """Estimated seconds of what is done."""
        parts: Iterator[float] = (
            one.fields["weight"] * one.percentage / 100 for one in self._trained()
        )
        return self._finished_weight + sum(parts)

    def _measure(self) -> None:
        """Begins to measure with the first round or trial that is done."""
        if self._measured_from is None:
            self._measured_from = self.clock(), self._done()

    def _forget(self, name: tuple[str, int]) -> None:
        if name in self._running:
            self._bars.remove_task(self._running.pop(name))

    def _trained(self) -> list[Task]:
        """Bars of the trials that are trained now, the first that began first."""
        return [task for task in self._bars.tasks if task.id != self._all]

    def _ahead(self) -> list[str]:
        left = self.seconds_left() if self._finished < self._trials else None
        return [] if left is None else [f"about {duration(left)} left"]

    def _show(self) -> None:
        if self._bars.disable:
            if self.clock() >= self._next_line:
                self._next_line = self.clock() + self._pause
                self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)
                self.say(self.line())
            return
        for place, trial in enumerate(self._running.values()):
            self._bars.update(trial, visible=place < _DRAWN)
        hidden = len(self._running) - _DRAWN
        more = [f"{hidden} more in training"] if hidden > 0 else []
        self._bars.update(
            self._all,
            completed=self._finished,
            total=self._trials,
            counted=f"{self._finished}/{self._trials} trials",
            description=" · ".join(self._ahead() + more),
        )
