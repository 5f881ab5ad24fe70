"""Simulated trials of a table with no difference between its methods, or with a known one.

The families are those of `docs/verdicts.md`. Every array is [tables, arms, trials].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fedrepro.benchmark.stats.outliers import outliers, p_unseen
from fedrepro.benchmark.stats.paired import p_above

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]
COLLAPSED = 0.13
"""The share of trials that collapse, as of CP-CFL's trials on the digits (issue 21)."""


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.normal(size=shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Log-normal with a long lower tail."""
    return -rng.lognormal(size=shape)


def collapsing(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Normal, but 13 % of the trials end eight SD lower."""
    return rng.normal(size=shape) - 8 * (rng.random(shape) < COLLAPSED)


def bounded(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Accuracies of 98.5 % on 600 images: few values, many ties."""
    return rng.binomial(600, 0.985, shape) / 6


FAMILIES: dict[str, Draw] = {
    "normal": normal,
    "skewed": skewed,
    "collapsing": collapsing,
    "bounded": bounded,
}


def one_arm_collapses(
    rng: np.random.Generator, tables: int, arms: int, trials: int, drop: float, others: int = 0
) -> Floats:
    """Normal arms of one mean, of which the first and `others` more collapse in 13 % of trials.

    What these lose on average they gain in every typical trial.
    """
    found = rng.normal(size=(tables, arms, trials))
    for arm in (0, *range(2, 2 + others)):
        fallen = rng.random((tables, trials)) < COLLAPSED
        found[:, arm] += drop * (COLLAPSED - fallen)
    return found


def p_first_above_second(tables: Floats) -> Floats:
    """P-values that the first arm's mean is above the second's, by what the others know."""
    first, second = tables[:, 0], tables[:, 1]
    found = p_above(first - second)
    for index in np.flatnonzero(found <= 0.05):  # unseen outliers only make it larger
        one, other = outliers(list(tables[index]))[:2]
        gap = float((first[index] - second[index]).mean())
        guards = (
            p_unseen(sum(one.low), len(one.low), gap, one.drop),
            p_unseen(sum(other.high), len(one.low), gap, other.rise),
        )
        found[index] = max(float(found[index]), *guards)
    return found
