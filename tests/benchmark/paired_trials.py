"""Simulated trials of a table with no difference between its methods, or with a known one.

The families are those of `docs/verdicts.md`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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


def one_arm_collapses(rng: np.random.Generator, tables: int, trials: int, drop: float) -> Floats:
    """Differences of normal arms of one mean, of which the first collapses in 13 % of trials.

    What it loses on average it gains in every typical trial. [tables, trials]
    """
    fallen = rng.random((tables, trials)) < COLLAPSED
    return (
        rng.normal(size=(tables, trials))
        - rng.normal(size=(tables, trials))
        + drop * (COLLAPSED - fallen)
    )
