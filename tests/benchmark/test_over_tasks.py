"""Methods over tasks, against enumeration, SciPy and simulated trials."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from fedrepro.benchmark.stats.over_tasks import friedman, interval, ranks, signed_ranks, wins

Floats = NDArray[np.float64]


@st.composite
def values(draw: st.DrawFn) -> Floats:
    """Tasks x methods x trials, with ties."""
    shape = tuple(draw(st.integers(1, 4)) for _ in range(3))
    size = int(np.prod(shape))
    flat = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    return np.array(flat, dtype=np.float64).reshape(shape)


@given(values())
def test_wins_are_counted_one_by_one(found: Floats) -> None:
    tasks, methods, trials = found.shape
    won = wins(found)
    for i, j, k in itertools.product(range(methods), range(methods), range(trials)):
        points = [
            1.0 if found[t, i, k] > found[t, j, k] else 0.5 * (found[t, i, k] == found[t, j, k])
            for t in range(tasks)
        ]
        assert won[i, j, k] == pytest.approx(sum(points) / tasks)


@given(values())
def test_mean_ranks_are_those_of_ranking_each_task(found: Floats) -> None:
    by_task = stats.rankdata(-found, axis=1)
    np.testing.assert_allclose(ranks(wins(found)), by_task.mean(axis=0))


@given(values(), st.sampled_from([1e-6, 1.0, 250.0]), st.integers(-3, 3))
def test_only_the_order_counts(found: Floats, scale: float, shift: int) -> None:
    np.testing.assert_allclose(wins(found * scale + shift), wins(found))
    won = wins(found)
    np.testing.assert_allclose(won + won.swapaxes(0, 1), 1.0)


def test_differences_of_rounding_are_ties() -> None:
    found = np.array([[[0.1 + 0.2], [0.3]]])
    assert wins(found)[0, 1, 0] == 0.5


def test_friedman_is_that_of_scipy() -> None:
    rng = np.random.default_rng(3)
    for k in (3, 4, 7):
        means = rng.integers(0, 6, (9, k)).astype(float)  # with ties
        expected = stats.friedmanchisquare(*means.T).pvalue
        assert friedman(means) == pytest.approx(expected)
    assert friedman(np.ones((4, 3))) == 1.0
    assert friedman(np.arange(8.0).reshape(4, 2)) is None


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_signed_ranks_are_the_share_of_all_signs(differences: list[int]) -> None:
    found = np.array([one for one in differences if one], dtype=float)
    size = stats.rankdata(np.abs(found)) if found.size else found
    sums = [
        sum(r for r, up in zip(size, signs, strict=True) if up)
        for signs in itertools.product((False, True), repeat=found.size)
    ]
    own = float(size[found > 0].sum())
    least = min(own, float(size.sum()) - own)
    expected = min(1.0, 2 * float(np.mean([one <= least for one in sums])))
    assert signed_ranks(np.array(differences, dtype=float)) == pytest.approx(expected)


@pytest.mark.parametrize("tasks", [2, 5, 11, 30])
def test_signed_ranks_without_ties_are_those_of_scipy(tasks: int) -> None:
    found = np.random.default_rng(tasks).normal(0.4, 1.0, tasks)
    assert signed_ranks(found) == pytest.approx(stats.wilcoxon(found).pvalue)


def test_an_interval_holds_its_mean_and_stays_inside() -> None:
    low, high = interval(np.ones(5), tasks=4, tie=0.5, low=0.0, high=1.0)
    assert 0.5 < low < 1.0 == high
    assert interval(np.ones(20), tasks=4, tie=0.5, low=0.0, high=1.0)[0] > low
    level = interval(np.full(5, 0.5), tasks=2, tie=0.5, low=0.0, high=1.0)
    assert level[0] < 0.5 < level[1]  # as often better as worse in all trials is no certainty
    with pytest.raises(ValueError, match="one trial"):
        interval(np.ones(1), tasks=4, tie=0.5, low=0.0, high=1.0)


def covered(tasks: int, trials: int, shift: float, shared: float, repeats: int) -> float:
    """How often the interval of P(first > second) holds it, for normal differences.

    shared: the part of the variance that a trial has in common on all tasks.
    """
    rng = np.random.default_rng([tasks, trials, int(10 * shift), int(10 * shared)])
    common = rng.standard_normal((repeats, 1, trials)) * shared**0.5
    own = rng.standard_normal((repeats, tasks, trials)) * (1 - shared) ** 0.5
    by_trial = ((shift + common + own) > 0).mean(axis=1)
    true = float(stats.norm.cdf(shift))
    found = [interval(one, tasks=tasks, tie=0.5, low=0.0, high=1.0) for one in by_trial]
    return float(np.mean([low <= true <= high for low, high in found]))


def assert_covers(tasks: int, trials: int, shift: float, shared: float, repeats: int) -> None:
    """At least 93 %: Student's t of a few numbers on a coarse grid is off by a percent or two."""
    error = (0.95 * 0.05 / repeats) ** 0.5
    assert covered(tasks, trials, shift, shared, repeats) >= 0.93 - 2 * error


def test_95_percent_intervals_cover_where_tasks_share_their_spread() -> None:
    assert_covers(tasks=16, trials=5, shift=0.7, shared=0.5, repeats=300)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [4, 16])
@pytest.mark.parametrize("trials", [5, 20])
@pytest.mark.parametrize("shift", [0.0, 0.7, 1.5])
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_95_percent_intervals_cover(tasks: int, trials: int, shift: float, shared: float) -> None:
    assert_covers(tasks, trials, shift, shared, repeats=2000)


def test_trials_drawn_apart_for_each_task_cover_too_little() -> None:
    """Why this is not rliable's stratified bootstrap: tasks share clients, weights and encoders."""
    rng = np.random.default_rng(0)
    repeats, tasks, trials = 200, 16, 5
    common = rng.standard_normal((repeats, 1, trials))
    own = rng.standard_normal((repeats, tasks, trials))
    better = (common + own) > 0
    draws = rng.integers(0, trials, (300, tasks, trials))
    held = 0
    for one in better:
        means = np.take_along_axis(one[None], draws, axis=2).mean(axis=(1, 2))
        low, high = np.percentile(means, [2.5, 97.5])
        held += low <= 0.5 <= high
    assert held / repeats < 0.7
