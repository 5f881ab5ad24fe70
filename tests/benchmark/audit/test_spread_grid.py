import itertools
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrepro.benchmark.audit.checks import spread_grid
from fedrepro.benchmark.audit.checks.spread_grid import Asked, is_possible, largest_sd
from fedrepro.benchmark.audit.rounding import rounded
from tests.benchmark.audit import small_paper


def ask(mean: str, sd: str, images: int, runs: int, ddof: int) -> Asked:
    return Asked(rounded(Decimal(mean)), rounded(Decimal(sd)), images, runs, ddof)


def percents(values: Sequence[int], images: int) -> list[Fraction]:
    return [Fraction(100 * k, images) for k in values]


def prints(asked: Asked, values: tuple[int, ...]) -> bool:
    mean, variance = small_paper.moments(percents(values, asked.images), asked.ddof)
    low, high = (max(end, Fraction(0)) ** 2 for end in asked.sd)
    return asked.mean[0] <= mean <= asked.mean[1] and low <= variance <= high


@pytest.mark.parametrize("runs", [2, 3])
@pytest.mark.parametrize("ddof", [0, 1])
def test_what_trying_all_finds_is_possible(runs: int, ddof: int) -> None:
    images = 8
    everything = list(itertools.combinations_with_replacement(range(images + 1), runs))
    found = 0
    for mean, sd in itertools.product(
        ("12.5", "37", "50", "62.5", "91.7"), ("0", "6", "12.5", "31.2", "70")
    ):
        asked = ask(mean, sd, images, runs, ddof)
        possible = [values for values in everything if prints(asked, values)]
        assert is_possible(asked) or not possible
        found += bool(possible)
    assert 0 < found < 25


@settings(deadline=None)
@given(
    st.data(),
    st.integers(2, 6),
    st.integers(1, 400),
    st.sampled_from([0, 1]),
    st.integers(0, 2),
    small_paper.rules,
)
def test_spread_of_whole_images_is_never_impossible(
    data: st.DataObject, runs: int, images: int, ddof: int, digits: int, rule: str
) -> None:
    values = tuple(data.draw(st.lists(st.integers(0, images), min_size=runs, max_size=runs)))
    text = small_paper.mean_and_sd(percents(values, images), ddof, digits, rule)
    for clients in ({"clients": {"count": 1, "test_size": images}}, {}):
        made = small_paper.paper(
            small_paper.cell(text, experiment={"method": "m", **clients}), runs=runs
        )
        assert small_paper.statuses(spread_grid.check(made)) == {"consistent"}
    asked = ask(*text.split(" ± "), images, runs, ddof)
    assert is_possible(asked)


def test_spread_off_the_grid_beside_spreads_on_it() -> None:
    # Three accuracies on ten images: sum 15 of 30; equal ones have no spread, the next is 8.16.
    texts = ["50.0 ± 8.2", "50.0 ± 3.0", "60.0 ± 0.0"]
    cells = small_paper.on_clients(texts, {"count": 1, "test_size": 10})
    wrong, table = spread_grid.check(small_paper.paper(*cells, runs=3, ddof=0))
    assert wrong.status == "inconsistent"
    assert wrong.published == "50.0 ± 3.0"
    assert wrong.computed == "ddof 0: sum 15 of 30 images, squares 75: the nearest SD is 0.0000"
    assert table.computed == "2 of 3 can"


def test_spread_beyond_what_percentages_can_have() -> None:
    given = {"experiment": {"method": "m", "clients": {"count": 100}}}
    mean = small_paper.cell("90.0", column="mean", **given)
    wrong, _ = spread_grid.check(
        small_paper.paper(
            mean, small_paper.cell("35.0", column="std", metric="accuracy_sd", **given)
        )
    )
    assert wrong.status == "inconsistent"
    # sqrt(89.95 x 10.05 x 100 / 99), the mean as near to 50 as it prints.
    assert wrong.computed == f"the SD is at most {sqrt(89.95 * 10.05 * 100 / 99):.4g}"


@given(st.lists(st.integers(0, 100), min_size=2, max_size=30), st.sampled_from([0, 1]))
def test_largest_spread_bounds_that_of_any_percentages(values: list[int], ddof: int) -> None:
    mean, variance = small_paper.moments(percents(values, 100), ddof)
    assert sqrt(variance) <= largest_sd((mean, mean), len(values), ddof) * (1 + 1e-9)


def test_a_sum_of_squares_is_odd_where_the_sum_is() -> None:
    # Ten images each, 25 % on average: S = 5. 12.25 needs Q = 14; possible are 13 and 17.
    mean = Fraction(2499, 100), Fraction(2501, 100)
    for sd, possible in ((Fraction(1225, 100), False), (Fraction(707, 100), True)):
        near = sd - Fraction(1, 200), sd + Fraction(1, 200)
        assert is_possible(Asked(mean, near, 10, 2, 1)) is possible
