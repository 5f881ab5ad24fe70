"""Which printed values show one quantity, and which were measured under the same conditions. The
audit compares what specs bind, so it knows a paper's tables only through their experiments."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from ..errors import SpecError
from ..planning.resolve import MEASUREMENTS, Resolver
from ..spec import settings as experiments
from ..spec.model import AS_PUBLISHED, Cell, Paper

SUBJECT = frozenset({"method", "training", "pretraining", "head", "augmentation"})
"""Sections that say what was tried; the others say on what, and how it was measured."""

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class ComparableValue:
    """A printed number of an experiment, and what it is compared by. `experiment`: shared by
    numbers that read one run; of unplanned runs, all of the spec."""

    cell: Cell
    experiment: str

    @cached_property
    def round(self) -> int | str:
        """The round that is shown; `final` is a number where the spec gives the rounds."""
        if self.cell.read != "final":
            return self.cell.read
        rounds = experiments.get(self.cell.experiment, "training.rounds")
        return rounds if isinstance(rounds, int) else "final"

    @property
    def measure(self) -> tuple[str | None, str | None, str | None]:
        return self.cell.metric, self.cell.formula, self.cell.unit

    @cached_property
    def quantity(self) -> tuple[object, ...]:
        """What of which run, at which round; its trials share it with their mean."""
        return self.experiment, self.measure, self.round

    @cached_property
    def conditions(self) -> tuple[object, ...]:
        """What was measured how, whatever was tried: data, clients, encoder, round."""
        others = {k: v for k, v in self.cell.experiment.items() if k not in SUBJECT}
        return canonical(others), self.measure, self.round, self.cell.trial

    @property
    def has_spread(self) -> bool:
        return self.cell.printed.sd is not None


Pair = tuple[ComparableValue, ComparableValue]


def tables_of(pair: Pair) -> tuple[str, str]:
    """The tables that print the two values."""
    return pair[0].cell.table, pair[1].cell.table


def grouped(items: Iterable[V], key: Callable[[V], K]) -> Mapping[K, list[V]]:
    """Items by their key, in the order in which they come."""
    groups: dict[K, list[V]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


@lru_cache(maxsize=1)
def numbers(paper: Paper) -> tuple[ComparableValue, ...]:
    """Numbers of experiments that have bounds, in the paper's order; cached for nine checks."""
    resolver = Resolver(AS_PUBLISHED)
    return tuple(
        ComparableValue(cell, _run(cell, resolver))
        for table in paper.tables
        for cell in table.cells
        if cell.experiment and cell.printed.value is not None and not cell.printed.approximate
    )


def _run(cell: Cell, resolver: Resolver) -> str:
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
