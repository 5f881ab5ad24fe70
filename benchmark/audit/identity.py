"""Which printed values show the same quantity, and which were measured under the same conditions.

The audit compares what specs bind, so it knows a paper's tables only through their experiments.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

from ..errors import SpecError
from ..planning.resolve import MEASUREMENTS, Resolver
from ..spec import settings as experiments
from ..spec.model import AS_PUBLISHED, Cell, Paper
from .rounding import is_exact_enough

SUBJECT = frozenset({"method", "training", "pretraining", "head", "augmentation"})
"""Sections that say what was tried; the others say on what, and how it was measured."""


@dataclass(frozen=True, eq=False)
class ComparableValue:
    """A printed number of an experiment, and what it is compared by.

    experiment: a key that two numbers share if they read the same run. Options that the run's own
    method does not have are left out, as far as the method is implemented; the key of other
    experiments holds all that the spec says. surroundings: a key for all but what was tried.
    """

    cell: Cell
    experiment: str
    surroundings: str

    @cached_property
    def round(self) -> int | str:
        """The round that is shown; `final` is a number where the spec gives the rounds."""
        if self.cell.read.at != "final":
            return self.cell.read.at
        rounds = experiments.get(self.cell.experiment, "training.rounds")
        return rounds if isinstance(rounds, int) else "final"

    @property
    def measure(self) -> tuple[str | None, str | None, str | None]:
        """What is measured: metric, formula and unit."""
        return self.cell.metric, self.cell.formula, self.cell.unit

    @cached_property
    def conditions(self) -> tuple[object, ...]:
        """What was measured how, whatever was tried: data, clients, encoder, round."""
        return self.surroundings, self.measure, self.round, self.cell.trial

    @property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """The closed interval of values that print like this one."""
        return self.cell.bounds

    @cached_property
    def has_spread(self) -> bool:
        """Whether it is printed with a standard deviation, as the mean of runs."""
        return self.cell.printed.sd is not None


def numbers(paper: Paper) -> tuple[ComparableValue, ...]:
    """The numbers of experiments that bounds can be put on, in print order."""
    return _numbers(_Same(paper))


@dataclass(frozen=True, eq=False)
class _Same:
    """A paper that equals itself alone."""

    paper: Paper

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.paper is other.paper

    def __hash__(self) -> int:
        return id(self.paper)


@lru_cache(maxsize=1)
def _numbers(same: _Same) -> tuple[ComparableValue, ...]:
    """Kept for the paper that was asked for last: nine checks ask for the same numbers."""
    resolver = Resolver(AS_PUBLISHED)
    cells = (cell for table in same.paper.tables for cell in table.cells)
    return tuple(
        ComparableValue(cell, _run(cell, resolver), _surroundings(cell))
        for cell in cells
        if cell.experiment and is_exact_enough(cell.printed)
    )


def _surroundings(cell: Cell) -> str:
    """Shared by cells whose sections other than `SUBJECT` are equal."""
    return canonical({k: v for k, v in cell.experiment.items() if k not in SUBJECT})


def _run(cell: Cell, resolver: Resolver) -> str:
    """Shared by cells that read one run."""
    # Accuracy stands for what is one more number of the same run.
    metric = cell.metric if cell.metric in MEASUREMENTS else "accuracy"
    for measured in dict.fromkeys((metric, "accuracy")):
        try:
            config = resolver.resolve(cell, measured).config
        except SpecError:
            break
        if config is not None:
            return config.canonical
    return canonical(cell.experiment)


def canonical(settings: Any) -> str:
    """Settings as text; equal ones have one text."""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
