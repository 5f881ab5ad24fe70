"""Shows what is being trained and how long it will take.

A terminal gets live lines; anything else (a file, a log, a pipe) gets one clean line now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from fedrepro.benchmark.planning.duration import duration

_LINE_EVERY_S = 10.0
_REDRAWS_PER_S = 4
_NAMED, _DRAWN = 4, 16
"""Trials that a line names and a terminal draws; a cluster trains hundreds at a time."""


@dataclass
class _Running:
    label: str
    weight: float
    done: int = 0
    total: int = 0

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0


@dataclass
class Progress:
    """Progress over trials; a context manager around the training.

    Weights of trials are estimated seconds, so the time left follows from the work done so far and
    not from the number of trials.
    """

    console: Console = field(default_factory=lambda: Console(stderr=True, highlight=False))
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.workers = 1
        self.trials = self.finished = self.failures = 0
        self.weight = self.finished_weight = 0.0
        self.running: dict[tuple[str, int], _Running] = {}
        self._began = self._last_line = self.clock()
        self._live: Live | None = None

    def say(self, sentence: str) -> None:
        """Prints one line that stays."""
        self.console.print(sentence, markup=False, soft_wrap=True)

    def begin(self, trials: int, weight: float, workers: int = 1) -> None:
        """Training of so many trials, of so many estimated seconds in all, begins now."""
        self.trials, self.weight, self.workers = trials, weight, max(workers, 1)
        self._began = self._last_line = self.clock()

    def started(self, name: tuple[str, int], label: str, weight: float) -> None:
        """A trial began."""
        self.running[name] = _Running(label, weight)
        self._show()

    def advanced(self, name: tuple[str, int], done: int, total: int) -> None:
        """So many of so many rounds of a trial are done."""
        if name in self.running:
            self.running[name].done, self.running[name].total = done, total
        self._show()

    def ended(self, name: tuple[str, int], weight: float, failed: bool) -> None:
        """A trial ended, or will never begin."""
        self.running.pop(name, None)
        self.finished += 1
        self.failures += failed
        self.finished_weight += weight
        self._show()

    def seconds_left(self) -> float | None:
        """Estimated seconds until the end; None while nothing can be said.

        Until a trial has ended the estimate of the work is all that there is: the first seconds
        only show how long workers take to start.
        """
        if self.weight <= 0:
            return None
        done = self.finished_weight + sum(r.share * r.weight for r in self.running.values())
        left = max(self.weight - done, 0.0)
        if self.finished_weight <= 0:
            return left / self.workers
        return left * (self.clock() - self._began) / done

    def line(self) -> str:
        """The state in one line."""
        left = self.seconds_left()
        words = [f"{self.finished}/{self.trials} trials"]
        if self.failures:
            words.append(f"{self.failures} failed")
        shown = list(self.running.values())[:_NAMED]
        words += [f"{one.label} {one.done}/{one.total or '?'}" for one in shown]
        if len(self.running) > len(shown):
            words.append(f"{len(self.running) - len(shown)} more")
        if left is not None and self.finished < self.trials:
            words.append(f"about {duration(left)} left")
        return " · ".join(words)

    def __enter__(self) -> Progress:
        if self.console.is_terminal:
            self._live = Live(
                console=self.console,
                get_renderable=self._picture,
                refresh_per_second=_REDRAWS_PER_S,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._live is not None:
            self._live.stop()
            self._live = None
        elif self.trials and kind is None:
            self.say(self.line())

    def _show(self) -> None:
        if self._live is None and self.clock() - self._last_line >= _LINE_EVERY_S:
            self._last_line = self.clock()
            self.say(self.line())

    def _picture(self) -> Table:
        left = self.seconds_left()
        table = Table.grid(padding=(0, 1))
        share = self.finished / self.trials if self.trials else 0.0
        ahead = "" if left is None else f"about {duration(left)} left"
        table.add_row(_bar(share), f"{self.finished}/{self.trials} trials", ahead)
        for one in list(self.running.values())[:_DRAWN]:
            table.add_row(_bar(one.share), f"{one.done}/{one.total or '?'}", one.label)
        if len(self.running) > _DRAWN:
            table.add_row("", "", f"{len(self.running) - _DRAWN} more")
        return table


def _bar(share: float, width: int = 24) -> str:
    filled = round(share * width)
    return "━" * filled + "╌" * (width - filled)
