"""The grid on which shares of whole numbers of images lie, in percent."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

from benchmark.audit.rounding import Interval


def on_grid(value: Interval, steps: int) -> bool:
    """Whether a percentage that prints so can be k / `steps`."""
    (a, b), (c, d) = (end.as_integer_ratio() for end in value)
    # ceil(low * steps / 100) <= floor(high * steps / 100), in whole numbers for speed.
    return -(-a * steps // (100 * b)) <= c * steps // (100 * d)


@cache
def share_on_grid(steps: int, places: int) -> Fraction:
    """The share of all percentages with that many decimals that are on the grid.

    1 means that the grid says nothing of numbers printed so.
    """
    unit = 10**places
    # Both grids repeat after a common divisor of their steps.
    period = 100 * unit // math.gcd(100 * unit, steps)
    half = Fraction(1, 2 * unit)
    hits = sum(
        on_grid((Fraction(i, unit) - half, Fraction(i, unit) + half), steps) for i in range(period)
    )
    return Fraction(hits, period)


def neighbours(value: Decimal, steps: int) -> tuple[tuple[int, Fraction], tuple[int, Fraction]]:
    """The multiples of 1 / `steps` next below and above a percentage, each as (k, %)."""
    below = math.floor(Fraction(value) * steps / 100)
    return (below, Fraction(100 * below, steps)), (below + 1, Fraction(100 * (below + 1), steps))
