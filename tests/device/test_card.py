"""Whether the pretended card refuses, takes, computes and counts as a real one would."""

from concurrent.futures import Executor

import numpy as np
import pytest

from tests.device import worker
from tests.device.expectations import ALLOWED, REFUSED


@pytest.mark.parametrize("name", REFUSED)
def test_the_card_refuses(card: Executor, name: str) -> None:
    assert card.submit(worker.answer, name).result() != "done"


@pytest.mark.parametrize("name", ALLOWED)
def test_the_card_takes(card: Executor, name: str) -> None:
    assert card.submit(worker.answer, name).result() == "done"


def test_gradients_are_those_of_the_processor(card: Executor) -> None:
    there, here = (card.submit(worker.gradients, name).result() for name in ("pretended", "cpu"))
    assert len(there) == 3
    for one, other in zip(there, here, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "operators", "copies", "waits"),
    [
        ("a sum", 1, 0, 0),
        ("a number", 1, 0, 1),
        ("a list of numbers", 0, 1, 1),
        ("NumPy of a copy", 0, 1, 1),
        ("copies both ways", 0, 2, 2),
        ("a copy that nobody waits for", 0, 1, 0),
        ("a list that becomes a tensor", 0, 1, 1),
        ("rows of the card by an index of the processor", 1, 1, 1),
        ("rows that are not nought", 1, 0, 1),
    ],
)
def test_operators_copies_and_waits_are_counted(
    card: Executor, name: str, operators: int, copies: int, waits: int
) -> None:
    totals = card.submit(worker.counted, name).result().totals()
    assert (totals.operators, totals.copies, totals.waits) == (operators, copies, waits)
