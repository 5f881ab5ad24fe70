"""The comparisons of a claim as numbers: in paired trials and as published.

For `max` and `min` the cell with the largest or smallest published value is taken, so that both
sides speak of one comparison. `by_trial` takes the largest or smallest cell of each trial. Equal
trials are no evidence: they leave no interval.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..spec.model import Cell
from ..stats.intervals import Floats, Interval, is_flat, reached, t_interval, tie
from .grammar import Aggregate, Arithmetic, Number
from .nodes import Elementary, Node, Values, is_trained

_SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


@dataclass(frozen=True)
class Levels:
    """Means of both sides over comparisons, the larger side of the claim first."""

    ours: tuple[float, float]
    published: tuple[float, float]


@dataclass(frozen=True)
class Contrasts:
    """The comparisons of a claim, each signed as the claim states it.

    `values`: by cell and seed; what is counted once has one entry. `looks`: declared numbers of
    trials; the last one that the trials have reached counts."""

    comparisons: Sequence[Elementary]
    values: Values
    looks: tuple[int, ...] = ()

    @cached_property
    def leaves(self) -> list[Cell]:
        return [leaf for one in self.comparisons for leaf in one.leaves]

    @cached_property
    def _paired(self) -> tuple[list[int], float]:
        """The seeds that all trained cells have, rising, and the level of intervals."""
        trials = [self.values[leaf.key].keys() for leaf in self.leaves if is_trained(leaf)]
        seeds = sorted(set(trials[0]).intersection(*trials[1:])) if trials else [0]
        most, level = reached(self.looks, len(seeds))
        return seeds[:most], level

    @property
    def n(self) -> int:
        return len(self._paired[0])

    @property
    def level(self) -> float:
        return self._paired[1]

    @cached_property
    def ours(self) -> Floats:
        """By comparison and trial. [k, n]"""
        return self._differences(self._trials)

    @cached_property
    def by_trial(self) -> Floats:
        """The same with the largest and smallest cells of each trial, not as published. [k, n]"""
        return self._differences(self._trials, by_trial=True)

    @cached_property
    def printed(self) -> float | None:
        """The mean as published; None where a value is not printed."""
        if any(leaf.printed.value is None for leaf in self.leaves):
            return None
        return float(self._differences(_printed).mean())

    @property
    def levels(self) -> Levels:
        """The means whose differences are `ours` and `printed`."""
        sides = [(one.left, one.right)[:: one.sign] for one in self.comparisons]

        def means(value: Callable[[Cell], Floats]) -> tuple[float, float]:
            larger, smaller = ([self._value(pair[i], value) for pair in sides] for i in (0, 1))
            return float(np.mean(larger)), float(np.mean(smaller))

        return Levels(means(self._trials), means(_printed))

    @cached_property
    def rounding(self) -> float:
        """The standard deviation that rounding of the printed values may give their mean."""
        halves = [float(leaf.printed.half_unit) for leaf in self.leaves]
        return math.sqrt(sum(half**2 for half in halves)) / len(self.comparisons)

    @cached_property
    def stated(self) -> Floats:
        """By comparison, the size that it states: how far from true it is if all its cells are
        equal. Infinite where it states none. [k]"""
        one, two = np.abs(self._differences(lambda _: np.array([1.0, 2.0]))).T
        return np.where((one == two) & (one > 0), one, math.inf)

    @cached_property
    def ties(self) -> Floats:
        """By comparison, the difference up to which its sides are equal. [k]"""
        found = []
        for one in self.comparisons:
            sides = [np.abs(self._value(node, self._trials)) for node in (one.left, one.right)]
            found.append(tie(one.unit, max(float(side.max()) for side in sides)))
        return np.array(found)

    def intervals(self, level: float) -> list[tuple[Interval, Interval]]:
        """Of each comparison in `ours` and `by_trial`; none where all its cells are flat."""
        found = []
        for i, one in enumerate(self.comparisons):
            flat = all(is_flat(self._trials(leaf)) for leaf in one.leaves if is_trained(leaf))
            step = math.inf if flat else float(self.ties[i])
            first, second = self.ours[i], self.by_trial[i]
            found.append((t_interval(first, level, step), t_interval(second, level, step)))
        return found

    def _differences(self, value: Callable[[Cell], Floats], by_trial: bool = False) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = [one.sign * self._value(one.exact, value, by_trial) for one in self.comparisons]
            return np.array(found)

    def _value(self, node: Node, value: Callable[[Cell], Floats], by_trial: bool = False) -> Floats:
        match node:
            case Number():
                return np.asarray(float(node.value))
            case Cell():
                return value(node)
            case Aggregate() if by_trial or node.name == "mean":
                values = np.array([value(leaf) for leaf in node.cells])
                return np.asarray(getattr(values, node.name)(axis=0))
            case Aggregate():
                return value(self._chosen(node))
            case Arithmetic():
                sides = (self._value(one, value, by_trial) for one in (node.left, node.right))
                return np.asarray(_SIGNS[node.sign](*sides))

    def _chosen(self, node: Aggregate[tuple[Cell, ...]]) -> Cell:
        """The cell with the largest or smallest published value; our mean, where one is blank."""
        prints = [leaf.printed.value for leaf in node.cells]
        sizes = [float(one) for one in prints if one is not None]
        if len(sizes) < len(prints):
            sizes = [float(self._trials(leaf).mean()) for leaf in node.cells]
        return node.cells[sizes.index(max(sizes) if node.name == "max" else min(sizes))]

    def _trials(self, leaf: Cell) -> Floats:
        trials = self.values[leaf.key]
        if not is_trained(leaf):
            return np.full(self.n, next(iter(trials.values())))
        return np.array([trials[seed] for seed in self._paired[0]])


def _printed(leaf: Cell) -> Floats:
    return np.asarray(float(leaf.printed.value or 0))
