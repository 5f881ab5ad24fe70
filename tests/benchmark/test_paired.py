import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fedrepro.benchmark.stats.false_discovery import benjamini_hochberg
from fedrepro.benchmark.stats.paired import p_above, p_sign, p_t, unanimous
from fedrepro.benchmark.stats.sign_flips import EXACT, flips

SAMPLES = st.lists(st.integers(-50, 50), min_size=2, max_size=9)


@given(SAMPLES)
def test_flips_equal_the_count_over_all_signs(sample: list[int]) -> None:
    signs = itertools.product((1, -1), repeat=len(sample))
    sums = [sum(s * x for s, x in zip(one, sample, strict=True)) for one in signs]
    at_least = sum(one >= sum(sample) for one in sums)
    found, is_most_extreme = flips(np.array(sample, np.float64))
    assert found == at_least / 2 ** len(sample)
    assert is_most_extreme == (at_least == 1)


@pytest.mark.parametrize("n", [EXACT, EXACT + 1, 40])
def test_drawn_flips_come_near_to_scipys(n: int) -> None:
    sample = np.random.default_rng(n).normal(0.3, 1, n)
    expected = stats.permutation_test(
        (sample,), np.mean, permutation_type="samples", alternative="greater", n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).pvalue  # fmt: skip
    assert flips(sample)[0] == pytest.approx(expected, abs=0.02)


def test_samples_are_judged_side_by_side_as_one_by_one() -> None:
    samples = np.random.default_rng(2).normal(0.5, 1, (3, 4, 7))
    for place in np.ndindex(3, 4):
        assert p_above(samples)[place] == pytest.approx(float(p_above(samples[place])))
        expected = stats.ttest_1samp(samples[place], 0, alternative="greater").pvalue
        assert p_t(samples)[place] == pytest.approx(expected)


@given(SAMPLES, st.floats(0.01, 100))
def test_the_unit_of_a_metric_changes_no_p_value(sample: list[int], unit: float) -> None:
    found = np.array(sample, np.float64)
    assert p_above(found * unit) == pytest.approx(float(p_above(found)), abs=1e-6)


@given(SAMPLES)
def test_a_comparison_and_its_opposite_are_never_both_shown(sample: list[int]) -> None:
    found = np.array(sample, np.float64)
    assert p_above(found) + p_above(-found) >= 0.99


def test_equal_differences_show_what_the_sign_test_does() -> None:
    assert p_above([2.0] * 5) == 2**-5 == p_sign([2.0] * 5) == unanimous([2.0] * 5)
    assert p_above([0.0] * 5) == 1.0 == p_sign([0.0] * 5) == unanimous([0.0] * 5)
    # A tie can be flipped without a change: four trials of five show what four would.
    assert p_above([1.0, 1.0, 1.0, 1.0, 0.0]) == 2**-4


def test_the_sign_test_equals_scipys_binomial_test() -> None:
    sample = [1.0, 2.0, -1.0, 0.0, 3.0, 4.0]
    assert p_sign(sample) == pytest.approx(stats.binomtest(4, 5, alternative="greater").pvalue)


def test_benjamini_hochberg_equals_statsmodels() -> None:
    p = list(np.random.default_rng(3).uniform(0, 1, 30) ** 4)
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert benjamini_hochberg([]) == []
