from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedrepro.methods.federated.client_memory import ClientMemory, ClientStates
from fedrepro.methods.state import State


@dataclass
class Kept(ClientMemory):
    models: ClientStates
    scale: Tensor
    table: State = field(default_factory=dict)


def test_a_client_that_has_not_trained_gets_what_is_given_otherwise() -> None:
    states = ClientStates.of(3)
    states.remember(torch.tensor([2, 0]), {"w": torch.tensor([[2.0], [0.5]])})
    otherwise = {"w": torch.tensor([[7.0], [8.0], [9.0]])}
    found = states.recall(torch.tensor([2, 1, 0]), otherwise)
    assert found["w"].flatten().tolist() == [2.0, 8.0, 0.5]
    assert otherwise["w"].flatten().tolist() == [7.0, 8.0, 9.0]
    assert states.has_trained.tolist() == [True, False, True]


def test_what_is_recalled_can_be_changed_without_changing_what_is_kept() -> None:
    states, both = ClientStates.of(2), torch.arange(2)
    states.remember(both, {"w": torch.ones(2, 1)})
    states.recall(both, {"w": torch.zeros(2, 1)})["w"].zero_()
    assert states.state["w"].flatten().tolist() == [1.0, 1.0]


def test_a_client_that_trains_again_replaces_its_own_state_alone() -> None:
    states = ClientStates.of(2)
    states.remember(torch.arange(2), {"w": torch.tensor([1.0, 2.0])})
    states.remember(torch.tensor([1]), {"w": torch.tensor([5.0])})
    assert states.state["w"].tolist() == [1.0, 5.0]


def test_all_that_a_method_keeps_is_seen() -> None:
    kept = Kept(ClientStates.of(2), torch.ones(2))
    assert len(list(kept.tensors())) == 2
    kept.models.remember(torch.tensor([0]), {"a": torch.ones(1), "b": torch.ones(1)})
    kept.table = {"c": torch.zeros(2)}
    assert len(list(kept.tensors())) == 5
    assert not list(ClientMemory().tensors())
