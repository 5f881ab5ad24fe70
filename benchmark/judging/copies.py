"""Trials that repeat another one under a new seed: named, and counted once.

Two trials of a table are taken for one if all its runs have equal values in both, and chance does
not explain it. Chance is bounded by taking each run to have 16 equally likely results: two seeds
agree in r independent runs with probability 16^-r. Fewer runs than show it pass as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scipy.stats import poisson

from ..metrics import metric
from ..planning.plan import PlannedCell

_RESULTS = 16
"""Results of one run that are taken to be equally likely."""
_LEVEL = 1e-4
"""Repeats that chance makes less often than this are copies."""


class Copies(NamedTuple):
    """Which trials of a table repeat others.

    Attributes:
        of: by seed that repeats an earlier one, that earlier seed.
        runs: in how many runs they are equal.
    """

    of: Mapping[int, int]
    runs: int

    @property
    def text(self) -> str:
        """`copies are counted once: 4 of trial 0 (equal in 12 runs)`."""
        times = sorted(Counter(self.of.values()).items())
        named = ", ".join(f"{count} of trial {seed}" for seed, count in times)
        return f"copies are counted once: {named} (equal in {self.runs} runs)"


def find_copies(cells: Iterable[tuple[PlannedCell, Mapping[int, float]]]) -> Copies:
    """The copies among the trials of one table's cells, given by seed.

    A run speaks once, by its first cell; values at an end of their metric are left out, since many
    trials reach it.
    """
    runs: dict[object, Mapping[int, float]] = {}
    for planned, values in cells:
        cell, known = planned.cell, metric(planned.cell.metric)
        ends = set() if known is None else set(known.bounds(cell.unit))
        if values and cell.kind == "empirical" and not ends & set(values.values()):
            run = cell.row if planned.config is None else planned.config.key
            runs.setdefault(run, values)
    return Copies(copied_seeds(list(runs.values())), len(runs))


def copied_seeds(runs: Sequence[Mapping[int, float]]) -> dict[int, int]:
    """By seed that repeats an earlier one in all runs, that earlier seed.

    Empty where fewer than two runs are given, or chance may explain the repeats.
    """
    seeds = sorted({seed for run in runs for seed in run})
    first: dict[tuple[float | None, ...], int] = {}
    copies, agreeing = dict[int, int](), len(runs)
    for seed in seeds:
        values = tuple(run.get(seed) for run in runs)
        if first.setdefault(values, seed) != seed:
            copies[seed] = first[values]
            agreeing = min(agreeing, sum(value is not None for value in values))
    pairs = len(seeds) * (len(seeds) - 1) / 2
    by_chance = pairs * float(_RESULTS) ** -agreeing
    shown = agreeing > 1 and poisson.sf(len(copies) - 1, by_chance) < _LEVEL
    return copies if copies and shown else {}
