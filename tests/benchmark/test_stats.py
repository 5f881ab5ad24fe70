import itertools

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind

from fedrepro.benchmark.stats import spread
from fedrepro.benchmark.stats.intervals import describe

CASES = list(itertools.product((2, 3, 5, 17), (2, 5, 9), (0.0, 0.4, -2.5), (0.5, 2.0)))


def sample(seed: int, n: int, mean: float, sd: float) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, sd, n)


@pytest.mark.parametrize(("n", "m", "shift", "margin"), CASES)
def test_welch_tost_from_summaries_equals_statsmodels_on_the_samples(n, m, shift, margin):
    a, b = sample(n, n, 70 + shift, 1.0), sample(100 + m, m, 70, 2.0)
    expected = ttost_ind(a, b, -margin, margin, usevar="unequal")[0]
    other = spread.Spread(b.std(ddof=1), m - 1, m)
    ((error, df),) = spread.standard_errors(a.std(ddof=1), n, other)
    ours = spread.p_equivalent(a.mean() - b.mean(), error, df, margin)
    assert ours == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_holm_equals_statsmodels(seed):
    rng = np.random.default_rng(seed)
    p_values = list(rng.uniform(0, 1, rng.integers(1, 20)) ** 4)
    p_values += rng.choice(p_values, 2).tolist()  # ties
    expected = multipletests(p_values, method="holm")[1]
    assert spread.holm(p_values) == pytest.approx(expected, abs=1e-12)


def test_welch_satterthwaite_equals_statsmodels():
    a, b = sample(1, 5, 0, 1), sample(2, 7, 0, 4)
    compare = CompareMeans(DescrStatsW(a), DescrStatsW(b))
    ((error, df),) = spread.standard_errors(a.std(ddof=1), 5, spread.Spread(b.std(ddof=1), 6, 7))
    assert error == pytest.approx(compare.std_meandiff_separatevar, abs=1e-12)
    assert df == pytest.approx(compare.dof_satt(), abs=1e-10)


def test_published_population_sd_becomes_the_sample_sd():
    trials = np.array([42.73, 41.53, 43.67, 43.03, 42.67])  # Table 11, FedAvg (None)
    assert spread.unbiased_sd(trials.std(), ddof=0, runs=5) == pytest.approx(trials.std(ddof=1))
    assert spread.unbiased_sd(trials.std(ddof=1), ddof=1, runs=5) == pytest.approx(
        trials.std(ddof=1)
    )


def test_bartlett_from_summaries_equals_scipy_on_the_samples():
    groups = [sample(seed, 6, 0, 1 + seed / 3) for seed in range(4)]
    ours = spread.bartlett([g.std(ddof=1) for g in groups], 6)
    assert ours == pytest.approx(scipy_stats.bartlett(*groups).pvalue, abs=1e-10)


def test_alike_spreads_are_pooled_but_never_shrink_a_cells_own():
    pooled = np.sqrt(np.mean(np.square([1.0, 1.2, 0.9])))
    expected = [spread.Spread(pytest.approx(pooled), 12, 5), spread.Spread(1.2, 4, 5)]
    assert spread.borrow([1.0, 1.2, 0.9], 5) == [*expected, expected[0]]


@pytest.mark.parametrize("sds", [[0.1, 5.0], [0.0, 0.5], [0.5]])
def test_spreads_that_differ_or_are_zero_are_not_pooled(sds):
    assert spread.borrow(sds, 5) == [spread.Spread(sd, 4, 5) for sd in sds]


def test_beyond_counts_both_tails_so_that_a_zero_margin_is_the_two_sided_test():
    values = sample(3, 6, 0.4, 1)
    error = values.std(ddof=1) / np.sqrt(6)
    expected = scipy_stats.ttest_1samp(values, 0).pvalue
    assert spread.p_beyond(values.mean(), error, 5, 0.0) == pytest.approx(expected, abs=1e-12)
    assert [spread.p_text(one) for one in (0.0002, 0.0125)] == ["p < 0.001", "p = 0.013"]


def test_equivalence_and_discrepancy_are_never_shown_together():
    for difference in np.linspace(-5, 5, 41):
        both = (
            spread.p_equivalent(difference, 0.7, 4, 2.0),
            spread.p_beyond(difference, 0.7, 4, 2.0),
        )
        assert max(both) > 0.5 - 1e-12


def test_mean_interval_equals_statsmodels():
    values = sample(4, 5, 10, 2)
    one, single, none = map(describe, (values, [3.0], []))
    assert one.interval == pytest.approx(DescrStatsW(values).tconfint_mean(0.05))
    assert single.interval is None
    assert none is None


def test_samples_without_spread_or_with_values_that_are_not_finite_are_told_apart():
    flat, rounded, wide, lost = map(describe, ([2, 2], [0.1 + 0.2, 0.3], [2, 2.1], [1, np.inf]))
    assert flat is not None
    assert flat.flat
    assert rounded is not None
    assert rounded.flat
    assert wide is not None
    assert not wide.flat
    assert lost is None


def test_no_trials_of_ours_outweigh_one_noisy_published_run():
    ((error, df),) = spread.standard_errors(2.0, 2000, None)
    assert spread.p_equivalent(0.1, error, df, 2.0) > 0.05
