import json
import math
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedrepro.methods.checkpoint import NEVER, Checkpoint
from fedrepro.methods.checkpoint_tree import DAMAGED, put_together, taken_apart
from fedrepro.methods.federated.client_memory import ClientStates


class Steps:
    """Steps of `seconds` each, every one a place; notes when it was saved."""

    def __init__(self, every_s: float, cost: float = 0.0) -> None:
        self.now, self.cost, self.at = 0.0, cost, list[float]()
        self.checkpoint = Checkpoint(self._write, every_s, clock=lambda: self.now)

    def _write(self, tree: Mapping[str, Any]) -> None:
        self.at.append(self.now)
        self.now += self.cost

    def take(self, steps: int, seconds: float) -> list[float]:
        for step in range(steps):
            self.checkpoint.at(lambda done=step: done)  # type: ignore[misc]
            self.now += seconds
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


CPU = torch.device("cpu")
HERE = ("fedrepro.methods", __name__)


@dataclass(frozen=True)
class Held:
    weights: dict[str, Tensor]
    note: str = ""
    none: None = None
    banks: dict[int, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.note == "made":
            raise AssertionError("it is not made again, only filled")


def back(tree: Any) -> Any:
    plain, flat = taken_apart(tree)
    return put_together(json.loads(json.dumps(plain)), flat, HERE, CPU)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_plain_values_come_back(tree: Any) -> None:
    found = back(tree)
    assert found == tree
    assert repr(found) == repr(tree)  # also the order, and 1 is not 1.0


def test_numbers_that_are_not_finite_come_back() -> None:
    found = back([math.inf, -math.inf, math.nan, -0.0])
    assert [str(one) for one in found] == ["inf", "-inf", "nan", "-0.0"]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(24).reshape(2, 3, 4),
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.randn(2, 3, 4, 5).permute(1, 3, 0, 2),
        torch.randn(6, 4)[::2, 1:],
        torch.randn(1, 4).expand(3, 4),
        torch.randn(40)[3:],
        torch.zeros(0, 3),
        torch.tensor(2.5),
        torch.tensor([True, False]),
        torch.randn(3, dtype=torch.float64),
        torch.randn(3).to(torch.bfloat16),
        torch.randn(3, requires_grad=True),
    ],
    ids=lambda tensor: f"{list(tensor.shape)} {list(tensor.stride())} {tensor.dtype}",
)
def test_tensors_come_back_with_strides(tensor: Tensor) -> None:
    found = back({"x": tensor})["x"]
    assert found.dtype == tensor.dtype
    assert found.shape == tensor.shape
    assert found.stride() == tensor.stride()
    assert torch.equal(found, tensor.detach())


@pytest.mark.parametrize("values", [np.arange(6).reshape(2, 3), np.array([1.5, np.nan], np.single)])
def test_arrays_come_back(values: np.ndarray[Any, Any]) -> None:
    found = back([values])[0]
    assert found.dtype == values.dtype
    assert found.tobytes() == values.tobytes()
    assert found.shape == values.shape


def test_dataclasses_come_back_without_being_made_again() -> None:
    made = Held({"w": torch.ones(2)}, banks={3: torch.zeros(1)})
    object.__setattr__(made, "note", "made")
    found = back(made)
    assert isinstance(found, Held)
    assert found.note == "made"
    assert found.banks.keys() == {3}
    assert torch.equal(found.weights["w"], torch.ones(2))
    memory = back(ClientStates.of(3))
    assert isinstance(memory, ClientStates)
    assert memory.has_trained.tolist() == [False] * 3


OTHERS = (
    "subprocess.Popen fedrepro.methods.seeds.SOURCES fedrepro.methods.seeds.Seeds builtins.dict "
    "fedrepro.methods.nowhere.Seeds fedrepro.methods.training.steps.Seeds fedrepro.methodsx.Seeds "
    "fedrepro.benchmark.execution.jobs.Job"
)


@pytest.mark.parametrize("place", OTHERS.split())
def test_other_classes_do_not_come_in(place: str) -> None:
    module, _, name = place.rpartition(".")
    for held in ([], [["trial", 1]]):
        with pytest.raises(DAMAGED):
            put_together({"object": [module, name, held]}, [], HERE, CPU)


@pytest.mark.parametrize(
    "plain",
    [
        *({"tensor": [at, "float32", [2], [1], True]} for at in (-1, 1)),
        *({"tensor": [0, kind, [2], [1], True]} for kind in ("float64", "nothing")),
        *({"tensor": [0, "float32", [size], [1], True]} for size in (1000, -2)),
        {"tensor": [0, "float32", [2], [1000], True]},
        {"nothing": []},
        {"list": [], "tuple": []},
        {},
        [1],
    ],
)
def test_what_was_never_taken_apart_is_refused(plain: Any) -> None:
    with pytest.raises(DAMAGED):
        put_together(plain, [np.zeros(4)], HERE, CPU)


class Other:
    pass


@pytest.mark.parametrize("value", [Other(), {(1, 2): 3}, {1.5: 2}, {1, 2}, b"bytes", pickle, len])
def test_what_cannot_be_saved_is_said(value: Any) -> None:
    with pytest.raises(TypeError):
        taken_apart([value])
