"""The grid on which shares of whole numbers of images lie, in percent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rounding import Interval


def on_grid(value: Interval, steps: int, reached: tuple[bool, bool] = (True, True)) -> bool:
    """Whether a percentage that prints so can be k / `steps`.

    reached: whether the ends of its interval print so, too.
    """
    (a, b), (c, d) = (end.as_integer_ratio() for end in value)
    # ceil(low * steps / 100) <= floor(high * steps / 100), in whole numbers for speed.
    first, last = -(-a * steps // (100 * b)), c * steps // (100 * d)
    if not reached[0] and first * 100 * b == a * steps:
        first += 1
    if not reached[1] and last * 100 * d == c * steps:
        last -= 1
    return first <= last


def off_grids(values: Sequence[Interval], steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the percentages cannot be k / n, for each n of `steps`."""
    unit = math.lcm(*(end.denominator for value in values for end in value))
    ends = [[int(end * unit) for end in value] for value in values]
    largest = max(100 * unit, *(abs(end) for pair in ends for end in pair))
    kind = _kind(largest * int(steps.max()))
    low, high = (side[:, None] for side in np.array(ends, kind).T)
    many: NDArray[Any] = steps.astype(kind)
    # The last k below the upper end is below the lower one: one division instead of two.
    off = high * many % (100 * unit) > (high - low) * many
    return np.asarray(off.sum(axis=0), dtype=np.int64)


@cache
def share_on_grid(steps: int, places: int) -> Fraction:
    """The share of all percentages with that many decimals that are on the grid.

    1 means that the grid says nothing of numbers printed so.
    """
    unit = 10**places
    # Both grids repeat after a common divisor of their steps.
    period = 100 * unit // math.gcd(100 * unit, steps)
    # As in `off_grids`, for the numbers i / unit, in half units.
    upper: NDArray[Any] = 2 * np.arange(period).astype(_kind(2 * (period + 1) * steps)) + 1
    hits = np.count_nonzero(upper * steps % (200 * unit) <= 2 * steps)
    return Fraction(int(hits), period)


def _kind(largest: int) -> type:
    """Of numbers up to `largest`: Python's where those of the processor are too short."""
    return np.int64 if largest < 2**62 else object


def neighbours(value: Decimal, steps: int) -> tuple[tuple[int, Fraction], tuple[int, Fraction]]:
    """The multiples of 1 / `steps` next below and above a percentage, each as (k, %)."""
    below = math.floor(Fraction(value) * steps / 100)
    return (below, Fraction(100 * below, steps)), (below + 1, Fraction(100 * (below + 1), steps))
