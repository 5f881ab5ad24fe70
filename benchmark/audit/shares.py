"""Shares of whole numbers of images, in percent: which numbers, means and SDs can be such shares?

With N images an accuracy is x = 100 k / N, k whole. S = sum(k) and Q = sum(k^2) give the mean
100 S / (N n) and the variance (100 / N)^2 (Q - S^2 / n) / (n - ddof).

GRIM (Brown and Heathers 2017): some whole S gives the mean.
GRIMMER (Anaya 2016; Allard 2018): for one of these, some whole Q gives the SD, and Q is odd where S
is, as k^2 is where k is; Q is at least that of n equal values, and at most that of values at the
ends.
DEBIT (Heathers and Brown 2019) is N = 1: Q = S, so the mean fixes the SD. For any N it bounds it by
the square root of m (100 - m) n / (n - ddof) (Bhatia and Davis 2000).
SPRITE (Heathers et al. 2018) asks for a sample: here all but three values are equal or differ by
one, a third is tried everywhere, and the last two are solved for. Up to three values nothing is
left out by that.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims.printed import Interval

MOST_SUMS = 2_000
"""More whole sums than this behind one printed mean always give its SD: the grid is too fine."""
MOST_TRIED = 20_000
"""So many third values are tried for a sample."""


def on_grid(value: Interval, steps: int, reached: tuple[bool, bool] = (True, True)) -> bool:
    """Whether a percentage that prints so can be k / `steps`.

    reached: whether the ends of its interval print so, too.
    """
    low, high = (end * steps / 100 for end in value)
    first, last = math.ceil(low), math.floor(high)
    first += first == low and not reached[0]
    last -= last == high and not reached[1]
    return first <= last


def off_grids(value: Interval, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each n of `steps`, rising, whether a percentage that prints so cannot be k / n."""
    unit = math.lcm(*(end.denominator for end in value))
    low, high = (int(end * unit) for end in value)
    # Python's numbers where those of the processor are too short.
    short = 100 * unit * int(steps[-1]) < 2**62
    many: NDArray[Any] = steps.astype(np.int64 if short else object)
    # The last k below the upper end is below the lower one: one division instead of two.
    off = high % (100 * unit) * many % (100 * unit) > (high - low) * many
    return np.asarray(off, dtype=bool)


@cache
def share_on_grid(steps: int, places: int) -> Fraction:
    """The share of percentages with so many decimals on the grid; 1 if it says nothing of them."""
    unit = 10**places
    # Both grids repeat after a common divisor of their steps.
    period = 100 * unit // math.gcd(100 * unit, steps)
    # As in `off_grids`, for the numbers i / unit, in half units.
    hits = sum((2 * i + 1) * steps % (200 * unit) <= 2 * steps for i in range(period))
    return Fraction(hits, period)


@dataclass(frozen=True)
class Asked:
    """A printed mean and SD in percent, n values on multiples of 1 / images, and the SD's ddof."""

    mean: Interval
    sd: Interval
    images: int
    runs: int
    ddof: int


def sums(asked: Asked) -> Iterator[tuple[int, tuple[int, int]]]:
    """Each whole S that gives the mean, with the range of whole Q, of any parity, for the SD."""
    scale = Fraction(asked.images * asked.runs, 100)
    first = max(0, math.ceil(asked.mean[0] * scale))
    last = min(asked.images * asked.runs, math.floor(asked.mean[1] * scale))
    for total in range(first, last + 1):
        low, high = squares(asked, total)
        if low <= high:
            yield total, (low, high)


def squares(asked: Asked, total: int) -> tuple[int, int]:
    """The least and largest whole sum of squares that print so, of values with that sum."""
    n, images = asked.runs, asked.images
    low, high = (
        (max(end, Fraction(0)) * images / 100) ** 2 * (n - asked.ddof) + Fraction(total**2, n)
        for end in asked.sd
    )
    below, over = divmod(total, n)
    least = over * (below + 1) ** 2 + (n - over) * below**2
    full, rest = divmod(total, images)
    most = full * images**2 + rest**2
    return max(math.ceil(low), least), min(math.floor(high), most)


def is_possible(asked: Asked) -> bool:
    """What GRIM and GRIMMER say: whether whole sums of the right parity print so."""
    scale = Fraction(asked.images * asked.runs, 100)
    if (asked.mean[1] - asked.mean[0]) * scale > MOST_SUMS:
        return True
    return any(low + (low - total) % 2 <= high for total, (low, high) in sums(asked))


def sample(asked: Asked) -> tuple[int, ...] | None:
    """Whole numbers of images that print so, in order; None if none is found.

    For up to three values none found means that there is none, unless the search was cut short.
    """
    if asked.runs < 2:
        return None
    tried = 0
    for total, bounds in sums(asked):
        middle = total // asked.runs
        steps = range(asked.images + 1 if asked.runs > 2 else 1)
        outwards = (middle + step for apart in steps for step in dict.fromkeys((apart, -apart)))
        for first in (k for k in outwards if 0 <= k <= asked.images):
            tried += 1
            if tried > MOST_TRIED:
                return None
            found = _filled(asked, total, bounds, first)
            if found is not None:
                return tuple(sorted(found))
    return None


def _filled(asked: Asked, total: int, bounds: tuple[int, int], first: int) -> list[int] | None:
    """A sample with `first` among it, equal values beside it, and two that are solved for."""
    equal, third = max(0, asked.runs - 3), [first] if asked.runs > 2 else []
    # The equal ones are as near to the mean as whole numbers are.
    base, over = divmod(total, asked.runs)
    known = [base + (i < over) for i in range(equal)] + third
    rest = total - sum(known)
    low, high = (2 * (end - sum(k * k for k in known)) - rest**2 for end in bounds)
    if high < 0:
        return None
    # Two values with sum `rest` and difference d: 2 (a^2 + b^2) = rest^2 + d^2.
    apart = math.isqrt(max(0, low - 1)) + 1 if low > 0 else 0
    apart += (apart - rest) % 2
    if apart**2 > high:
        return None
    pair = [(rest - apart) // 2, (rest + apart) // 2]
    return [*known, *pair] if pair[0] >= 0 and pair[1] <= asked.images else None


def largest_sd(mean: Interval, runs: int, ddof: int) -> float:
    """The largest SD of values from 0 to 100 with such a mean, n of them at the ends."""
    nearest = min(max(Fraction(50), mean[0]), mean[1])
    return math.sqrt(float(nearest * (100 - nearest) * runs / (runs - ddof)))
