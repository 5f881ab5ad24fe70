"""When a training saves itself, what it saves, and what it goes on from; by a clock of our own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from fedrepro.methods.checkpoint import NEVER, Checkpoint


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Steps:
    """Steps of `seconds` each, every one a place; notes when it was saved."""

    def __init__(self, every_s: float, cost: float = 0.0) -> None:
        self.clock, self.cost, self.at = Clock(), cost, list[float]()
        self.checkpoint = Checkpoint(self._write, every_s, clock=self.clock)

    def _write(self, tree: Mapping[str, Any]) -> None:
        self.at.append(self.clock.now)
        self.clock.now += self.cost

    def take(self, steps: int, seconds: float) -> list[float]:
        for step in range(steps):
            self.checkpoint.at(lambda done=step: done)  # type: ignore[misc]
            self.clock.now += seconds
        return self.at


@pytest.mark.parametrize(("seconds", "every"), [(1, 10), (3, 10), (0.1, 5), (7, 10)])
def test_no_more_than_an_interval_and_a_step_is_lost(seconds: float, every: float) -> None:
    at = [0.0, *Steps(every).take(200, seconds)]
    gaps = [b - a for a, b in pairwise(at)]
    assert max(gaps) <= every + seconds + 1e-9
    assert min(gaps) > every - 1e-9


def test_longer_steps_are_saved_each() -> None:
    assert Steps(10).take(4, 25.0) == [25.0, 50.0, 75.0]


def test_saving_takes_a_twentieth_of_the_time_at_most() -> None:
    at = Steps(10, cost=10).take(1000, 1.0)
    assert min(b - a for a, b in pairwise(at)) >= 20 * 10


@pytest.mark.parametrize("checkpoint", [NEVER, Checkpoint(lambda tree: None, 0.0)])
def test_nothing_is_kept_where_nothing_is_saved(checkpoint: Checkpoint) -> None:
    checkpoint.at(lambda: pytest.fail("asked for a state"))
    assert checkpoint.restored() is None


def test_what_was_saved_is_what_a_training_goes_on_from() -> None:
    trees: list[Any] = []
    checkpoint = Checkpoint(trees.append, 0.5, clock=iter([0.0, 1.0, 1.0]).__next__)
    checkpoint.at(lambda: {"round": 7})
    assert Checkpoint(saved=trees[0]).restored() == {"round": 7}
