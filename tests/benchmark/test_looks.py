"""Looks: the shares of the level, and why a cell is judged at the last one alone.

`tests/benchmark/answer/test_answer_rates.py` simulates how often claims err at several looks.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.judging.published_value import PublishedValue
from fedrepro.benchmark.judging.verdicts import JudgedCell, judge_table
from fedrepro.benchmark.stats.t_tests import reached, shares

LOOKS = (5, 10, 20, 40)
COUNTS = st.lists(st.integers(0, 60), min_size=1, max_size=8)


def test_shares_are_the_steps_of_the_spending_function() -> None:
    spent = [math.log(1 + (math.e - 1) * n / 40) for n in LOOKS]
    assert shares(LOOKS, 40) == pytest.approx(np.diff([0, *spent]))
    assert shares([5], 5) == pytest.approx([1.0])


@given(COUNTS, st.integers(1, 50))
def test_shares_never_spend_more_than_there_is(counts: list[int], declared: int) -> None:
    found = shares(counts, declared)
    assert min(found) >= 0
    assert sum(found) <= 1 + 1e-12


def test_a_look_without_new_trials_and_one_beyond_the_declared_spend_nothing() -> None:
    found = shares([5, 5, 10, 12], 10)
    assert (found[1], found[3]) == (0.0, 0.0)


def test_looks_that_cannot_be_are_refused() -> None:
    for counts, declared in (([5], 0), ([-1], 5)):
        with pytest.raises(ValueError, match="declared"):
            shares(counts, declared)


@pytest.mark.parametrize(("trials", "look"), [(5, 0), (9, 0), (10, 1), (39, 2), (40, 3), (60, 3)])
def test_the_last_look_that_is_reached_counts_at_its_share_of_the_level(
    trials: int, look: int
) -> None:
    counted, level = reached(LOOKS, trials)
    assert counted == LOOKS[look]
    # The shares are of all declared trials, so that what is spent adds up to 5 %.
    assert level == pytest.approx(1 - 0.05 * shares(LOOKS, 40)[look])


def test_without_a_look_all_trials_count_at_the_whole_level() -> None:
    assert reached((), 7) == (7, pytest.approx(0.95))
    assert reached(LOOKS, 4) == (4, pytest.approx(0.95))


def test_a_cell_judged_at_every_look_would_err_more_often_so_it_is_judged_once() -> None:
    random, cells = np.random.default_rng(0), 1_500
    wrong = {"REPRODUCED": 0, "DISCREPANT": 0}
    trials = random.standard_normal((cells, LOOKS[-1]))
    for own, printed in zip(trials, random.normal(3, 1, cells), strict=True):
        side = PublishedValue(printed, printed, printed)
        found = [JudgedCell(side, tuple(own[:look].tolist()), 3.0) for look in LOOKS]
        words = {judge_table([one])[0].word for one in found}
        for word in wrong:
            wrong[word] += word in words
    assert all(0.06 < count / cells < 0.12 for count in wrong.values())
