import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from fedrepro.benchmark.audit.checks.granularity import share_on_grid
from fedrepro.benchmark.audit.rounding import squares_of

intervals = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30)).map(
        lambda ends: (Fraction(ends[0], 10), Fraction(ends[0] + ends[1], 10))
    ),
    min_size=2,
    max_size=6,
)


@settings(deadline=None)
@given(intervals, st.randoms(use_true_random=False))
def test_sum_of_squares_lies_in_its_range_for_any_values(
    values: list[tuple[Fraction, Fraction]], draw: random.Random
) -> None:
    least, largest = squares_of(values)
    for _ in range(20):
        point = [low + (high - low) * Fraction(draw.randint(0, 8), 8) for low, high in values]
        mean = sum(point) / len(point)
        assert least <= sum((x - mean) ** 2 for x in point) <= largest


@settings(deadline=None)
@given(intervals)
def test_least_sum_of_squares_is_that_of_a_numerical_minimum(
    values: list[tuple[Fraction, Fraction]],
) -> None:
    bounds = [(float(low), float(high)) for low, high in values]
    start = np.array([sum(ends) / 2 for ends in bounds])
    found = minimize(lambda x: float(((x - x.mean()) ** 2).sum()), start, bounds=bounds)
    assert float(squares_of(values)[0]) == pytest.approx(found.fun, abs=1e-5)


@pytest.mark.parametrize(("steps", "places"), [(30, 1), (750, 2), (800, 1), (3000, 2), (20000, 2)])
def test_share_on_grid_is_what_counting_all_percentages_gives(steps: int, places: int) -> None:
    unit = 10**places
    half = Fraction(1, 2 * unit)
    points = [Fraction(100 * k, steps) for k in range(steps + 1)]
    near = {
        i
        for point in points
        for i in range(int(point * unit) - 1, int(point * unit) + 3)
        if abs(Fraction(i, unit) - point) <= half and 0 <= i < 100 * unit
    }
    assert share_on_grid(steps, places) == Fraction(len(near), 100 * unit)
