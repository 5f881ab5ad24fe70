"""Rounds of losses that note something for their method, stopped after each chunk of clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch

from fedrepro.methods import checkpoint as module
from fedrepro.methods.checkpoint import Checkpoint
from fedrepro.methods.checkpoint_tree import put_together, taken_apart
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import FederatedMethod, Task
from fedrepro.methods.outcome import Outcome
from fedrepro.methods.training.steps import Grouping
from tests.methods import test_fcl, test_fsl
from tests.methods.conftest import MakeTask

CASES: Mapping[str, tuple[FederatedMethod, Callable[[Task], Task]]] = {
    "fcl": (test_fcl.fcl(rounds=2), test_fcl.with_objective),
    "splitfed-v2": (test_fsl.METHOD, test_fsl.split),
}


class _StoppedError(BaseException):
    pass


def stopped_everywhere(method: FederatedMethod, task: Task) -> tuple[Outcome, int]:
    """What comes of a training that is stopped after it was saved, as often as it can be."""
    saved: Any = None
    for stops in count():
        left = 1 + (saved is not None)  # what a part begins with was saved by the one before

        def write(state: Mapping[str, Any]) -> None:
            nonlocal left, saved
            left -= 1
            if left == 0:
                plain, flat = taken_apart(dict(state))
                copies = [one.clone() for one in flat]
                saved = put_together(plain, copies, ["fedrepro.methods"], torch.device("cpu"))
                raise _StoppedError

        checkpoint = Checkpoint(write, 1e-9, saved, map(float, count(0, 1000)).__next__)
        try:
            return loop.run(method, task, checkpoint=checkpoint), stops
        except _StoppedError:
            continue
    raise AssertionError


@pytest.mark.parametrize("name", CASES)
def test_a_round_goes_on_with_all_that_its_losses_had_noted(
    name: str, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SHARE", 0.0)
    method, prepared = CASES[name]
    task = replace(prepared(make_task(sizes=(10, 6, 9))), grouping=Grouping(at_once=1))
    expected = loop.run(method, task)
    found, stops = stopped_everywhere(method, task)
    assert stops >= 2 * 3  # within rounds, not only between them
    assert found.metrics == expected.metrics
    assert found.counts == expected.counts
    for kind, values in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[kind], values)
