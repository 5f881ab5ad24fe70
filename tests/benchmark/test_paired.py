import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from fedrepro.benchmark.stats.false_discovery import benjamini_hochberg
from fedrepro.benchmark.stats.outliers import outliers, p_unseen
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


@pytest.mark.parametrize(("seen", "trials"), [(0, 5), (0, 20), (1, 10), (4, 20)])
def test_unseen_outliers_reach_as_far_as_the_bound_of_clopper_and_pearson(
    seen: int, trials: int
) -> None:
    bound = proportion_confint(seen, trials, alpha=0.10, method="beta")[1]
    gap = (bound - seen / trials) * 30
    assert p_unseen(seen, trials, gap, 30.0) == pytest.approx(0.05)
    assert p_unseen(seen, trials, gap * 1.1, 30.0) < 0.05
    assert p_unseen(seen, trials, -gap, 30.0) == 1.0
    assert p_unseen(seen, trials, gap, 0.0) == 0.0


def test_a_trial_far_below_its_arm_is_found_and_ordinary_ones_are_not() -> None:
    arms = np.random.default_rng(4).normal(70, 1, (6, 5))
    assert all(one.drop == one.rise == 0 for one in outliers(arms.tolist()))
    arms[2, 3] = 40
    found = outliers(arms.tolist())
    assert [sum(one.low) for one in found] == [0, 0, 1, 0, 0, 0]
    assert found[2].low[3]
    assert found[0].drop == pytest.approx(np.median(arms[2]) - 40)


def test_an_arm_that_is_three_times_as_noisy_does_not_collapse() -> None:
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(200):
        arms = rng.normal(70, 1, (8, 20)) * np.array([1] * 6 + [3] * 2)[:, None]
        seen += outliers(arms.tolist())[0].drop > 0
    assert seen < 20


def test_one_trial_of_equal_ones_that_falls_is_found_whatever_its_size() -> None:
    found = outliers([[100.0] * 5, [100.0, 100.0, 100.0, 100.0, 60.0]])
    assert (found[0].drop, found[1].low[4]) == (40.0, True)
