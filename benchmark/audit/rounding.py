"""Arithmetic on printed numbers: each stands for the closed interval of values that print so. It is
exact (fractions), so that a bound never moves by a rounding of our own."""

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from ..claims.printed import ExactRange
from ..spec.printed import Printed, half_unit

Bounds = tuple[Fraction, Fraction] | tuple[Decimal, Decimal]
DDOFS = (0, 1)
"""The kinds of SD that a paper may print: of a population, of a sample."""
MOST_CORNERS = 12
"""More numbers than this have too many corners to try; a bound on all of them stands in."""


def interval(printed: Printed) -> ExactRange:
    """The values that print like a cell; its spread is not looked at."""
    low, high = map(Fraction, printed.bounds)
    return low, high


def rounded(value: Decimal) -> ExactRange:
    """The values that print like a bare number."""
    half = Fraction(half_unit(value))
    return Fraction(value) - half, Fraction(value) + half


def can_meet(one: Bounds, other: Bounds) -> bool:
    """Whether two intervals have a value in common."""
    return one[0] <= other[1] and other[0] <= one[1]


def can_be_one_value(one: Bounds, other: Bounds) -> bool:
    """Whether one value can print both ways: 84.55 prints as 84.5 or as 84.6, never as both."""
    if one[0] == one[1] or other[0] == other[1]:  # a count is not rounded
        return can_meet(one, other)
    return one[0] < other[1] and other[0] < one[1]


def mean_of(values: Sequence[ExactRange]) -> ExactRange:
    """The range of the mean."""
    lows, highs = zip(*values, strict=True)
    return sum(lows, Fraction(0)) / len(values), sum(highs, Fraction(0)) / len(values)


def squares_of(values: Sequence[ExactRange]) -> ExactRange:
    """The range of the sum of squared deviations from the mean. The largest is at a corner, as the
    sum is convex; beyond `MOST_CORNERS` values a bound stands for it (towards `consistent`)."""
    # Whole numbers of one small unit: there are thousands of corners.
    n, unit = len(values), math.lcm(*(end.denominator for value in values for end in value))
    whole = [(int(low * unit), int(high * unit)) for low, high in values]
    least = _least_squares(whole) / unit**2
    if n <= MOST_CORNERS:
        corners = itertools.product(*whole)
        largest = max(n * sum(a * a for a in corner) - sum(corner) ** 2 for corner in corners)
        return least, Fraction(largest, n * unit**2)
    low, high = mean_of(values)
    centre = (low + high) / 2
    return least, sum((max((a - centre) ** 2, (b - centre) ** 2) for a, b in values), Fraction(0))


def _least_squares(values: Sequence[tuple[int, int]]) -> Fraction:
    """The least sum of squared deviations, which are distances to one common point. Between two
    neighbouring ends the same intervals contain the point. It is the mean of the nearest ends of
    the other intervals, if that is between the two."""
    ends = sorted({end for value in values for end in value})
    for left, right in itertools.pairwise(ends):
        stuck = [
            high if high <= left else low for low, high in values if high <= left or low >= right
        ]
        n, total = len(stuck), sum(stuck)
        if n and n * left <= total <= n * right:
            return Fraction(n * sum(end * end for end in stuck) - total**2, n)
    return Fraction(0)


def sd_fits(squares: ExactRange, divisor: int, sd: Decimal) -> bool:
    """Whether a sum of squared deviations in `squares` over `divisor` can be the square of `sd`."""
    low, high = (max(end, Fraction(0)) ** 2 * divisor for end in rounded(sd))
    return divisor > 0 and can_meet(squares, (low, high))


def digits(value: Fraction, most: int = 6) -> str:
    """A number with so many significant digits; products of a claim may be beyond all floats."""
    try:
        return f"{float(value):.{most}g}"
    except OverflowError:
        whole = Decimal(value.numerator) / Decimal(value.denominator)
        return f"{whole:.{most - 1}e}"


def places_of(printed: Printed) -> int:
    """How many decimals are printed."""
    assert printed.value is not None
    return max(0, -int(printed.value.as_tuple().exponent))
