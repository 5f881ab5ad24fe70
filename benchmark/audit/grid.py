"""The grid on which shares of whole numbers of images lie, in percent."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.audit.rounding import Interval


def on_grid(value: Interval, steps: int) -> bool:
    """Whether a percentage that prints so can be k / `steps`."""
    (a, b), (c, d) = (end.as_integer_ratio() for end in value)
    # ceil(low * steps / 100) <= floor(high * steps / 100), in whole numbers for speed.
    return -(-a * steps // (100 * b)) <= c * steps // (100 * d)


def on_grids(value: Interval, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """`on_grid` for each of `steps`."""
    unit = math.lcm(*(end.denominator for end in value))
    low, high = (int(end * unit) for end in value)
    largest = max(abs(low), abs(high), 100 * unit) * int(steps.max())
    # Python's whole numbers where those of the processor are too short.
    many: NDArray[Any] = steps if largest < 2**62 else steps.astype(object)
    # The last k below the upper end is not below the lower one: one division instead of two.
    return np.asarray(high * many % (100 * unit) <= (high - low) * many, dtype=np.bool_)


@cache
def share_on_grid(steps: int, places: int) -> Fraction:
    """The share of all percentages with that many decimals that are on the grid.

    1 means that the grid says nothing of numbers printed so.
    """
    unit = 10**places
    # Both grids repeat after a common divisor of their steps.
    period = 100 * unit // math.gcd(100 * unit, steps)
    # As in `on_grids`, for the numbers i / unit, in half units.
    upper = (2 * np.arange(period) + 1) * (steps % (200 * unit))
    hits = np.count_nonzero(upper % (200 * unit) <= 2 * steps)
    return Fraction(int(hits), period)


def neighbours(value: Decimal, steps: int) -> tuple[tuple[int, Fraction], tuple[int, Fraction]]:
    """The multiples of 1 / `steps` next below and above a percentage, each as (k, %)."""
    below = math.floor(Fraction(value) * steps / 100)
    return (below, Fraction(100 * below, steps)), (below + 1, Fraction(100 * (below + 1), steps))
