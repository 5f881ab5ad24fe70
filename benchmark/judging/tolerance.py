"""How far numbers of unchanged code may lie from a baseline, on seeds that it has not seen.

What is allowed comes from the baseline's trials alone: a run cannot widen its own tolerance. With s
their deviation, n and m the numbers of trials of the baseline and of the run,

- a mean may move by t * s * sqrt(1/n + 1/m), t of Student's t with n - 1 degrees of freedom;
- a deviation s' may not exceed s by more than Fisher's F allows, and trials that differed may not
  be all equal;
- the mean over all cells of a method, taken trial by trial, may move as a cell's mean may.

The three questions share `LEVEL`, and each divides its third among what it compares (Bonferroni).
Below three trials there is no tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..stats.t_tests import t_quantile

LEVEL = 0.05
"""How often unchanged code is called changed on other seeds, if trials are normal."""
_FEWEST = 3


def mean_tolerance(old: Sequence[float], trials: int, compared: int) -> float:
    """How far the mean of `trials` new trials may lie from that of the old ones."""
    n = len(old)
    if n < _FEWEST:
        return 0.0
    t = t_quantile(1 - LEVEL / 3 / compared / 2, n - 1)
    return t * float(np.std(old, ddof=1)) * math.sqrt(1 / n + 1 / trials)


def spread_changed(old: Sequence[float], new: Sequence[float], compared: int) -> bool:
    """Whether the new trials spread more than the old ones allow, or not at all."""
    from scipy import stats

    if len(old) < _FEWEST or len(new) < 2:
        return False
    before, after = float(np.var(old, ddof=1)), float(np.var(new, ddof=1))
    if not before or not after:
        return before != after
    most = stats.f.isf(LEVEL / 3 / compared, len(new) - 1, len(old) - 1)
    return after / before > float(most)


def means_by_trial(cells: Sequence[Mapping[int, float]]) -> list[float]:
    """By trial that all cells have, the mean over the cells."""
    seeds = sorted(set.intersection(*map(set, cells)))
    return [sum(cell[seed] for cell in cells) / len(cells) for seed in seeds]
