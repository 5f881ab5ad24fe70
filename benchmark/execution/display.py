"""Shows what is trained, and how long it takes: a bar on a terminal, elsewhere a line at times."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ..planning.estimate import RunKind, duration

TrialName = tuple[str, int]  # run key and seed
_Kind = tuple[object, ...]  # of a trial, from wide to narrow
_EVERY_S = 10.0  # between lines
_NAMED = 4  # trials that a line names; a cluster trains hundreds at a time


@dataclass
class Display:
    """Progress over trials, weighted by estimated seconds; a context manager around training.
    What is left is estimated from how long finished trials of the same kind took, or of the same
    method or stage; where there is none, it is what was expected."""

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
        self, seconds: Mapping[TrialName, float], kinds: Mapping[TrialName, RunKind] | None = None
    ) -> None:
        """Trials begin of which each takes about so many seconds, in any unit."""
        self._seconds, self._all_s = seconds, sum(seconds.values())
        self._kinds = {name: (kinds or {}).get(name, ()) for name in seconds}
        self._left_s = defaultdict[_Kind, float](float)
        self._expected_s = defaultdict[_Kind, float](float)
        self._taken_s = defaultdict[_Kind, float](float)
        for name, kind in self._kinds.items():
            self._left_s[kind] += seconds[name]
        self._since = dict[TrialName, float]()
        self._labels = dict[TrialName, str]()
        self._rounds = dict[TrialName, tuple[int, int]]()
        self._finished = self._failures = 0
        self._began = self._next_line = self.clock()

    def started(self, name: TrialName, label: str) -> None:
        """A trial began; a trial that is tried again begins anew."""
        self._labels[name], self._rounds[name] = label, (0, 0)
        self._since[name] = self.clock()
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
        kind = self._kinds[name]
        self._left_s[kind] -= self._seconds[name]
        if (since := self._since.pop(name, None)) is not None:
            for n in range(len(kind) + 1):
                self._expected_s[kind[:n]] += self._seconds[name]
                self._taken_s[kind[:n]] += self.clock() - since
        self._show()

    def seconds_left(self) -> float | None:
        """Seconds until the end; None while no trial has finished."""
        if not self._taken_s:
            return None  # a start takes long beside the first rounds
        left = sum(seconds * self._pace(kind) for kind, seconds in self._left_s.items())
        left -= sum(part * self._pace(self._kinds[name]) for name, part in self._parts())
        now = self.clock()
        all_workers = self._taken_s[()] + sum(now - since for since in self._since.values())
        return left * (now - self._began) / all_workers

    def _pace(self, kind: _Kind) -> float:
        """Measured by expected seconds of the finished trials most like this kind, in its stage."""
        like = (kind[:n] for n in range(len(kind), min(len(kind), 1) - 1, -1))
        known = next((one for one in like if self._expected_s[one]), None)
        return 1.0 if known is None else self._taken_s[known] / self._expected_s[known]

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

    def _parts(self) -> Iterator[tuple[TrialName, float]]:
        """Trials that run, each with the expected seconds of what it has done."""
        for name, (n, total) in self._rounds.items():
            yield name, self._seconds[name] * n / (total or 1)

    def _show(self) -> None:
        if not self._bar.disable:
            finished = self._all_s - sum(self._left_s.values())
            done = finished + sum(part for _, part in self._parts())
            self._bar.update(self._task, completed=done, total=self._all_s, description=self.line())
        elif self.clock() >= self._next_line:
            self._next_line = self.clock() + _EVERY_S
            self.say(self.line())
