"""What a rehearsal counts on the pretended card, by line of the project.

A copy moves numbers between card and host. A wait is a place where the host stands still until the
card has finished: a number that is read, a copy to the host, a copy to the card that is not asked
to be `non_blocking`, an operator whose result has as many rows as its data say.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from fedrepro import methods

ROOT = Path(methods.__file__).parents[1]
_OWN = (str(ROOT / "methods"), str(ROOT / "benchmark"))


@dataclass(frozen=True)
class Totals:
    """operators: kernels that the card would be sent, copies to and from it left out."""

    operators: int = 0
    copies: int = 0
    waits: int = 0

    def __sub__(self, other: Totals) -> Totals:
        return Totals(
            self.operators - other.operators, self.copies - other.copies, self.waits - other.waits
        )


@dataclass
class Books:
    """operators: by name. copies, waits: by kind and line. marks: totals at each backward pass."""

    operators: Counter[str] = field(default_factory=Counter)
    copies: Counter[tuple[str, str]] = field(default_factory=Counter)
    waits: Counter[tuple[str, str]] = field(default_factory=Counter)
    marks: list[Totals] = field(default_factory=list)

    def totals(self) -> Totals:
        return Totals(self.operators.total(), self.copies.total(), self.waits.total())

    def copy(self, kind: str, waits: bool) -> None:
        """A copy, `to the card` or `to the host`."""
        self.copies[kind, line()] += 1
        if waits:
            self.wait(kind)

    def wait(self, kind: str) -> None:
        self.waits[kind, line()] += 1

    def mark(self) -> None:
        """Called at the backward pass of a step."""
        self.marks.append(self.totals())

    def steps(self) -> list[Totals]:
        """What happened from each backward pass to the next."""
        return [after - before for before, after in zip(self.marks, self.marks[1:], strict=False)]

    def typical_step(self) -> Totals | None:
        """Medians over the steps of a run; None of a run with fewer than two."""
        steps = self.steps()
        if not steps:
            return None
        return Totals(
            *(int(statistics.median_low(getattr(step, name) for step in steps)) for name in NAMES)
        )


NAMES = ("operators", "copies", "waits")


def line() -> str:
    """The innermost line of the project that is being executed, as `methods/state.py:36`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(_OWN):
            return f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"
        frame = frame.f_back
    return "elsewhere"
