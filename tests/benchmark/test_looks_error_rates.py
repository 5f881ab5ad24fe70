"""Claims looked at with 5, 10, 20 and 40 trials: how often they are decided, wrongly and rightly.

docs/verdicts.md shows the numbers of the slow simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from fedrepro.benchmark.judging.published_value import PublishedValue
from fedrepro.benchmark.judging.verdicts import JudgedCell, judge_table
from fedrepro.benchmark.stats.looks import shares
from fedrepro.benchmark.stats.paired import p_above

LOOKS = (5, 10, 20, 40)
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


def decided(
    draw: Draw, effect: float, claims: int, test: Callable[[Floats], Floats] = by_t
) -> Rates:
    """Claims of one comparison whose trials are added until it is decided, as a run does.

    draw: differences of mean 0 and SD 1. [claims, trials]
    """
    differences = effect + draw(np.random.default_rng(0), claims)
    word, trials = np.zeros(claims), np.full(claims, LOOKS[-1])
    still = np.arange(claims)
    for look, share in zip(LOOKS, shares(LOOKS, LOOKS[-1]), strict=True):
        seen = differences[still, :look]
        for sign in (1, -1):
            passed = test(sign * seen) <= 0.05 * share
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


def test_the_test_that_decides_claims_keeps_its_level_over_looks() -> None:
    rates = decided(normal, 0.0, 1_000, p_above)
    assert rates.shown <= at_most(0.05, 1_000)
    assert rates.opposite <= at_most(0.05, 1_000)


def test_looking_without_shares_would_be_wrong_too_often() -> None:
    """What the shares are for: the same looks, each at the whole level."""
    x = normal(np.random.default_rng(0), 2_000)
    p = [ttest_1samp(x[:, :n], 0, axis=1, alternative="greater").pvalue for n in LOOKS]
    assert np.mean(np.min(p, axis=0) <= 0.05) > 0.09


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
