import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedrepro.benchmark.stats.looks import sequential_p, shares

COUNTS = st.lists(st.integers(0, 60), min_size=1, max_size=8)


def test_one_look_at_all_declared_trials_loses_nothing() -> None:
    assert shares([5], 5) == pytest.approx([1.0])
    assert sequential_p([0.03], shares([5], 5)) == pytest.approx(0.03)


def test_shares_are_the_steps_of_the_spending_function() -> None:
    spent = [math.log(1 + (math.e - 1) * n / 40) for n in (5, 10, 20, 40)]
    assert shares([5, 10, 20, 40], 40) == pytest.approx(np.diff([0, *spent]))


@given(COUNTS, st.integers(1, 50))
def test_shares_never_spend_more_than_there_is(counts: list[int], declared: int) -> None:
    found = shares(counts, declared)
    assert min(found) >= 0
    assert sum(found) <= 1 + 1e-12


def test_a_look_without_new_trials_and_one_beyond_the_declared_spend_nothing() -> None:
    found = shares([5, 5, 10, 12], 10)
    assert (found[1], found[3]) == (0.0, 0.0)
    assert sequential_p([0.5, 0.0, 0.4, 0.0], found) == pytest.approx(
        min(0.5 / found[0], 0.4 / found[2])
    )


def test_nothing_spent_is_nothing_shown() -> None:
    assert sequential_p([0.001], [0.0]) == 1.0
    assert sequential_p([], []) == 1.0
    assert sequential_p([0.9], [0.5]) == 1.0


def test_looks_that_cannot_be_are_refused() -> None:
    for counts, declared in (([5], 0), ([-1], 5)):
        with pytest.raises(ValueError, match="declared"):
            shares(counts, declared)


def test_looking_until_it_holds_errs_in_at_most_five_percent_where_bare_looks_err_more() -> None:
    tables, looks = 20_000, (5, 10, 20, 40)
    d = np.random.default_rng(3).normal(size=(tables, 40))
    p = np.array([stats.ttest_1samp(d[:, :n], 0, axis=1, alternative="greater")[1] for n in looks])
    bound = 0.05 + 2.9 * np.sqrt(0.05 * 0.95 / tables)
    assert (p.min(axis=0) <= 0.05).mean() > 0.10
    spent = shares(looks, 40)
    found = [sequential_p(one, spent) for one in p.T]
    assert np.mean(np.array(found) <= 0.05) <= bound
