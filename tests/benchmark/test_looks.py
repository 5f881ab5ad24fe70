"""Looks: shares of the level, and how often claims are decided, wrongly and rightly.

docs/verdicts.md shows the numbers of the slow simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from fedrepro.benchmark.judging.published_value import PublishedValue
from fedrepro.benchmark.judging.verdicts import JudgedCell, judge_table
from fedrepro.benchmark.stats.looks import sequential_p, shares

LOOKS = (5, 10, 20, 40)
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
    tables = 20_000
    d = np.random.default_rng(3).normal(size=(tables, 40))
    p = np.array([ttest_1samp(d[:, :n], 0, axis=1, alternative="greater").pvalue for n in LOOKS])
    bound = 0.05 + 2.9 * np.sqrt(0.05 * 0.95 / tables)
    assert (p.min(axis=0) <= 0.05).mean() > 0.10
    spent = shares(LOOKS, 40)
    found = [sequential_p(one, spent) for one in p.T]
    assert np.mean(np.array(found) <= 0.05) <= bound


Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True)
class Rates:
    """Shares of claims that are called shown and opposite, and the trials that they took."""

    shown: float
    opposite: float
    trials: float


def by_t(differences: Floats) -> Floats:
    """Student's p-values that means are above zero, by another library. [claims, trials]"""
    found = ttest_1samp(differences, 0, axis=1, alternative="greater").pvalue
    return np.asarray(found, np.float64)


def decided(draw: Draw, effect: float, claims: int) -> Rates:
    """Claims of one comparison whose trials are added until it is decided, as a run does.

    draw: differences of mean 0 and SD 1. [claims, trials]
    """
    differences = effect + draw(np.random.default_rng(0), claims)
    word, trials = np.zeros(claims), np.full(claims, LOOKS[-1])
    still = np.arange(claims)
    for look, share in zip(LOOKS, shares(LOOKS, LOOKS[-1]), strict=True):
        seen = differences[still, :look]
        for sign in (1, -1):
            passed = by_t(sign * seen) <= 0.05 * share
            word[still[passed]] = sign
            trials[still[passed]] = look
        still = np.flatnonzero(word == 0)
    return Rates(float(np.mean(word > 0)), float(np.mean(word < 0)), float(trials.mean()))


def normal(random: np.random.Generator, claims: int) -> NDArray[np.float64]:
    return random.standard_normal((claims, LOOKS[-1]))


def flat(random: np.random.Generator, claims: int) -> NDArray[np.float64]:
    return random.uniform(-math.sqrt(3), math.sqrt(3), (claims, LOOKS[-1]))


def at_most(share: float, claims: int) -> float:
    """The level with three Monte-Carlo errors."""
    return share + 3 * math.sqrt(share * (1 - share) / claims)


def test_a_cell_judged_at_every_look_would_err_more_often_so_it_is_judged_once() -> None:
    random, cells = np.random.default_rng(0), 1_500
    wrong = {"REPRODUCED": 0, "DISCREPANT": 0}
    for own, printed in zip(normal(random, cells), random.normal(3, 1, cells), strict=True):
        side = PublishedValue(printed, printed, printed)
        found = [JudgedCell(side, tuple(own[:look].tolist()), 3.0) for look in LOOKS]
        words = {judge_table([one])[0].word for one in found}
        for word in wrong:
            wrong[word] += word in words
    assert all(0.06 < count / cells < 0.12 for count in wrong.values())


def test_a_run_that_stops_when_its_claim_is_decided_overstates_the_effect() -> None:
    effect, claims = 0.5, 4_000
    differences = effect + normal(np.random.default_rng(0), claims)
    still, means, covered = np.arange(claims), np.zeros(claims), np.zeros(claims)
    for look, share in zip(LOOKS, shares(LOOKS, LOOKS[-1]), strict=True):
        seen = differences[still, :look]
        interval = ttest_1samp(seen, 0, axis=1).confidence_interval()
        means[still] = seen.mean(axis=1)
        covered[still] = (interval.low <= effect) & (effect <= interval.high)
        still = still[by_t(seen) > 0.05 * share]
    assert 0.55 < np.mean(means) < 0.63
    assert 0.89 < np.mean(covered) < 0.955


@pytest.mark.parametrize("draw", [normal, flat])
def test_looking_four_times_is_wrong_no_more_often_than_looking_once(draw: Draw) -> None:
    rates = decided(draw, 0.0, 2_000)
    assert rates.shown <= at_most(0.05, 2_000)
    assert rates.opposite <= at_most(0.05, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [normal, flat])
def test_error_rates_of_looks(draw: Draw) -> None:
    rates = decided(draw, 0.0, 100_000)
    assert rates.shown <= at_most(0.05, 100_000)
    assert rates.opposite <= at_most(0.05, 100_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "shown", "trials"), [(0.5, 0.86, 28.4), (1.0, 1.0, 13.2), (2.0, 1.0, 6.3)]
)
def test_power_of_looks_is_what_the_docs_say(effect: float, shown: float, trials: float) -> None:
    rates = decided(normal, effect, 100_000)
    assert rates.shown == pytest.approx(shown, abs=0.01)
    assert rates.trials == pytest.approx(trials, abs=0.3)
