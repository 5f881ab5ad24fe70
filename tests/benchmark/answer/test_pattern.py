import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedrepro.benchmark.judging.answers import answer_table
from fedrepro.benchmark.stats.intervals import Interval, detectable, t_interval
from fedrepro.benchmark.stats.pattern import (
    Pattern,
    correlation,
    orderings,
    relabelling_p,
    reliability,
    retention,
)
from tests.benchmark.answer.simulated import noise, pattern, prints, tables


@pytest.fixture
def table():
    return next(tables(1, 7, 1.0, seed=3))


def with_holes(table: Pattern) -> Pattern:
    printed, trials = table.printed.copy(), table.trials.copy()
    printed[1, 2] = printed[4, 0] = np.nan
    trials[1, 2] = trials[4, 0] = np.nan
    return Pattern(printed, table.half, trials, table.rows, table.columns, table.methods)


def plain_slope(printed, values):
    """Sums over the cells that exist, column by column."""
    up = down = 0.0
    for c in range(printed.shape[1]):
        there = [r for r in range(len(printed)) if not math.isnan(printed[r, c])]
        mean = sum(printed[r, c] for r in there) / len(there)
        up += sum((printed[r, c] - mean) * values[r, c] for r in there)
        down += sum((printed[r, c] - mean) ** 2 for r in there)
    return up / down


def test_retention_is_the_slope_within_columns(table):
    for one in (table, with_holes(table)):
        expected = [plain_slope(one.printed, one.trials[..., t]) for t in range(one.n)]
        assert retention(one.printed, one.trials) == pytest.approx(expected)


def test_correlation_of_one_column_is_pearsons(table):
    printed, means = table.printed[:, :1], table.means[:, :1]
    expected = stats.pearsonr(printed[:, 0], means[:, 0]).statistic
    assert correlation(printed, means) == pytest.approx(expected)


@pytest.mark.parametrize("holes", [False, True])
def test_relabelling_counts_every_permutation(table, holes):
    one = with_holes(table) if holes else table
    seen = correlation(one.printed, one.means) - 1e-9
    orders = itertools.permutations(range(len(one.rows)))
    alike = [correlation(one.printed[list(order)], one.means) >= seen for order in orders]
    assert relabelling_p(one.printed, one.means) == pytest.approx(np.mean(alike), abs=1e-12)


def test_relabelling_of_many_rows_is_drawn_and_repeats():
    rng = np.random.default_rng(0)
    printed, means = prints(rng, 12), prints(rng, 12)
    assert relabelling_p(printed, means) == relabelling_p(printed, means)
    assert relabelling_p(printed, printed) == pytest.approx(1 / 10_001)


@pytest.mark.parametrize(("tie", "alike"), [(1e-5, 0.5), (1e-9, 1.0)])
def test_what_counts_as_a_tie_is_said_by_the_pattern(tie, alike):
    close = np.array([[[0.003, 0.003]], [[0.002999, 0.002998]]])
    found = orderings(replace(pattern(np.array([[3.0], [2.0]]), close), tie=tie))
    assert found.tolist() == [[alike, alike]]


def test_orderings_count_ties_half_and_leave_out_what_rounding_hides():
    printed = np.array([[3.0], [2.0], [2.005]])
    trials = np.array([[[2.0, 2.0]], [[1.0, 2.0]], [[0.0, 0.0]]])
    found = orderings(pattern(printed, trials))
    assert sorted(map(tuple, found)) == [(1.0, 0.5), (1.0, 1.0)]


def test_no_difference_in_print_gives_no_slope():
    assert retention(np.full((4, 2), 5.0), np.zeros((4, 2, 3))) is None


def test_reliability_of_a_print_that_is_all_noise_is_zero(table):
    assert reliability(table, 1e6) == 0.0
    assert reliability(table, 0.0) == 1.0


@given(st.floats(0.1, 50), st.floats(-100, 100))
def test_rescaling_a_table_or_doubling_its_columns_changes_nothing(scale, shift):
    one = next(tables(1, 5, 0.7, seed=4))
    moved = pattern(scale * one.printed + shift, scale * one.trials - shift)
    twice = pattern(np.tile(one.printed, (1, 2)), np.tile(one.trials, (1, 2, 1)))
    for other in (moved, twice):
        assert retention(other.printed, other.trials) == pytest.approx(
            retention(one.printed, one.trials), rel=1e-6
        )
        a, b = (answer_table("accuracy", each) for each in (one, other))
        assert a.word == b.word
        assert a.relabelling_p == pytest.approx(b.relabelling_p)


def test_equal_trials_are_no_evidence():
    rng = np.random.default_rng(5)
    printed = prints(rng)
    copies = np.repeat((printed + noise(rng, "normal", 1)[..., 0])[..., None], 5, axis=-1)
    found = answer_table("accuracy", pattern(printed, copies))
    assert found.word == "OPEN"
    assert found.retention.low is None


def test_a_table_that_rests_on_one_row_is_open():
    rng = np.random.default_rng(6)
    printed = rng.normal(size=(6, 4))
    printed[0] -= 40
    trials = 0.2 * printed[..., None] + 0.01 * noise(rng, "normal", 10)
    trials[0] -= 32
    found = answer_table("accuracy", pattern(printed, trials))
    assert (found.word, found.reason) == ("OPEN", "It rests on r0 alone.")


def test_three_rows_never_pass():
    rng = np.random.default_rng(7)
    printed = prints(rng, 3)
    trials = printed[..., None] + noise(rng, "normal", 60, 3)
    found = answer_table("accuracy", pattern(printed, trials))
    assert found.word == "OPEN"
    assert found.retention.lies_above(0.5)


def test_the_interval_is_students():
    values = [3.0, 4.5, 2.0, 8.0]
    low, high = stats.t.interval(0.9, 3, np.mean(values), stats.sem(values))
    assert t_interval(values, 0.9) == Interval(
        pytest.approx(4.375), pytest.approx(low), pytest.approx(high)
    )
    assert t_interval([1.0]) == Interval(1.0)


def test_what_is_detectable_is_shown_in_four_of_five_runs():
    shift = detectable(2.0, 8)
    drawn = np.random.default_rng(9).normal(shift, 2.0, size=(20_000, 8))
    shown = stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05
    assert np.mean(shown) == pytest.approx(0.8, abs=0.01)
