"""What costs host time on a card does not come back: copies and waits of a step and of a round."""

from concurrent.futures import Executor

import pytest

from tests.device import steps
from tests.device.steps import OBJECTIVES

ALONE, TOGETHER, UNLIKE = (12,), (12, 12, 12, 12), (12, 10, 7, 6)


@pytest.mark.parametrize(
    ("name", "copies", "waits"),
    [
        ("a sum", 0, 0),
        ("a number that is read", 0, 1),
        ("a list of numbers", 1, 1),
        ("copies both ways", 2, 2),
        ("a copy that nobody waits for", 1, 0),
        ("a list that becomes a tensor", 1, 1),
        ("rows by an index of the host", 1, 1),
        ("rows by a mask", 0, 1),
        ("places that are not zero", 0, 1),
    ],
)
def test_copies_and_waits_are_counted(card: Executor, name: str, copies: int, waits: int) -> None:
    assert card.submit(steps.counts_of, name).result() == (copies, waits)


@pytest.mark.parametrize("sizes", [ALONE, TOGETHER, UNLIKE])
def test_a_supervised_step_neither_copies_nor_waits(card: Executor, sizes: tuple[int, ...]) -> None:
    found = card.submit(steps.steps_of, None, sizes).result()
    assert len(found) == 2
    assert [(step.copies, step.waits) for step in found] == [(0, 0)] * 2


@pytest.mark.parametrize("sizes", [ALONE, TOGETHER, UNLIKE])
def test_a_step_on_views_copies_their_parameters_once_and_never_waits(
    card: Executor, sizes: tuple[int, ...]
) -> None:
    found = card.submit(steps.steps_of, None, sizes, augmented=True).result()
    assert [(step.copies, step.waits) for step in found] == [(1, 0)] * 2


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_self_supervised_step_never_waits(card: Executor, objective: str) -> None:
    for sizes in (ALONE, TOGETHER):
        found = card.submit(steps.steps_of, objective, sizes).result()
        assert [step.waits for step in found] == [0] * 2
        assert [step.copies for step in found] == [1] * 2  # of the views' parameters


def test_an_evaluation_waits_as_often_with_nine_models_as_with_three(card: Executor) -> None:
    three, nine = (card.submit(steps.evaluation, n).result() for n in (3, 9))
    assert (three.copies, three.waits) == (nine.copies, nine.waits) == (1, 1)


def test_models_are_taken_and_put_by_one_copy_that_nobody_waits_for(card: Executor) -> None:
    for found in card.submit(steps.models_taken_and_put).result():
        assert (found.copies, found.waits) == (1, 0)


def test_k_means_copies_points_once_and_first_centres_once_a_start(card: Executor) -> None:
    totals, apart = card.submit(steps.clustering, 3).result()
    assert totals.copies == 1 + 1 + 3  # the points themselves, back, and three times the centres
    assert totals.waits <= 1 + 3 * 5  # a look at every twentieth of 100 iterations
    assert set(apart) == {0.0}


def test_unlike_tensors_travel_together_and_arrive_as_they_were(card: Executor) -> None:
    totals, same = card.submit(steps.packed).result()
    assert (totals.copies, totals.waits) == (1, 0)
    assert all(same)
