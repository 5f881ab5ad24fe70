"""When a training saves itself, what it saves, and what it goes on from; by a clock of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest
import torch

from fedrepro.methods import checkpoint as module
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
def test_no_more_than_an_interval_is_lost_where_steps_are_shorter(
    seconds: float, every: float
) -> None:
    at = [0.0, *Steps(every).take(200, seconds)]
    gaps = [b - a for a, b in pairwise(at)]
    assert max(gaps) <= every + 1e-9
    assert min(gaps) > every - 2 * seconds


def test_longer_steps_are_saved_each() -> None:
    assert Steps(10).take(4, 25.0) == [25.0, 50.0, 75.0]


def test_saving_takes_a_twentieth_of_the_time_at_most() -> None:
    at = Steps(10, cost=10).take(1000, 1.0)
    assert min(b - a for a, b in pairwise(at)) >= 20 * 10


@pytest.mark.parametrize("checkpoint", [NEVER, Checkpoint(lambda tree: None, 0.0)])
def test_nothing_is_kept_where_nothing_is_saved(checkpoint: Checkpoint) -> None:
    checkpoint.at(lambda: pytest.fail("asked for a state"))
    section = checkpoint.section()
    section.offer(lambda: pytest.fail("asked for a state"))
    assert checkpoint.restored() is None
    assert section.saved is None


def saved_by(work: Callable[[Checkpoint], None], saved: Any = None) -> list[Any]:
    """What is saved where every place is taken."""
    trees: list[Any] = []
    clock = Clock()
    checkpoint = Checkpoint(trees.append, 1e-9, saved, clock)
    work(checkpoint)
    return trees


def two_sections(checkpoint: Checkpoint) -> None:
    start = checkpoint.restored() or 0
    for step in range(start, 2):
        checkpoint.at(lambda now=step: now)  # type: ignore[misc]
        for _ in range(2):
            section = checkpoint.section()
            done = section.saved or 0
            while done < 2:
                done += 1
                section.offer(lambda now=done: now)  # type: ignore[misc]


def test_a_step_is_saved_with_its_sections_and_begins_without_those_of_the_last() -> None:
    clock = Clock()
    trees: list[Any] = []

    def work(checkpoint: Checkpoint) -> None:
        clock.now += 1
        two_sections(checkpoint)

    checkpoint = Checkpoint(trees.append, 0.5, clock=clock)
    checkpoint.passed = checkpoint.save  # type: ignore[method-assign]
    work(checkpoint)
    step = [[], [1], [2], [2, 1], [2, 2]]
    assert [one["sections"] for one in trees] == step + step
    assert [one["state"] for one in trees] == [0] * 5 + [1] * 5


def test_a_step_goes_on_within_the_section_in_which_it_was_stopped() -> None:
    trees: list[Any] = []
    checkpoint = Checkpoint(trees.append, 0.5, {"state": 1, "sections": [2, 1]}, Clock())
    checkpoint.passed = checkpoint.save  # type: ignore[method-assign]
    two_sections(checkpoint)
    # The step's own place, where nothing is lost yet, and the one that was left to do.
    assert trees == [{"state": 1, "sections": [2, 1]}, {"state": 1, "sections": [2, 2]}]


def test_what_does_not_fit_is_refused_with_all_that_came_after_it() -> None:
    trees: list[Any] = []
    checkpoint = Checkpoint(trees.append, 0.5, {"state": 0, "sections": [1, 2, 3]}, Clock())
    assert checkpoint.restored() == 0
    checkpoint.at(lambda: 0)
    assert checkpoint.section().saved == 1
    second = checkpoint.section()
    second.refuse()
    assert second.saved is None
    assert checkpoint.section().saved is None
    checkpoint.save()
    assert trees == [{"state": 0, "sections": [1, None, None]}]


def test_sections_that_hold_too_much_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 100)
    trees: list[Any] = []
    checkpoint = Checkpoint(trees.append, 0.5, clock=Clock())
    checkpoint.passed = checkpoint.save  # type: ignore[method-assign]
    checkpoint.at(lambda: 0)
    checkpoint.section().offer(lambda: torch.zeros(200))
    checkpoint.section().offer(lambda: pytest.fail("asked for a state"))
    checkpoint.at(lambda: 1)
    checkpoint.section().offer(lambda: 5)
    assert [one["state"] for one in trees] == [0, 0, 1, 1]
