"""MOON's loss by hand, and what its clients remember."""

from __future__ import annotations

import math

import pytest
import torch

from fedrepro.methods.federated.base import Round
from fedrepro.methods.federated.supervised.moon import MOON, model_contrast
from tests.methods.conftest import MakeTask

OPTIONS = {"rounds": 2, "local_epochs": 1, "batch_size": 5, "learning_rate": 0.05}


def test_loss_of_two_images_by_hand() -> None:
    z = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    received = torch.tensor([[[3.0, 0.0], [1.0, 0.0]]])  # cosines 1 and 0
    previous = torch.tensor([[[0.0, 1.0], [0.0, -1.0]]])  # cosines 0 and -1
    tau = 0.5
    first = -math.log(math.exp(1 / tau) / (math.exp(1 / tau) + math.exp(0)))
    second = -math.log(math.exp(0) / (math.exp(0) + math.exp(-1 / tau)))
    found = model_contrast(z, received, previous, tau)
    assert found.flatten().tolist() == pytest.approx([first, second])


def test_clients_remember_their_own_last_model(make_task: MakeTask) -> None:
    task, method = make_task(), MOON(**OPTIONS)  # type: ignore[arg-type]
    memory, clients = method.new_memory(task), torch.tensor([0, 2])
    server = method.start(task, 0)
    up = method.local_update(
        Round(task, 0, clients), method.broadcast(Round(task, 0, clients), server), memory
    )
    for name, value in memory.previous.state.items():
        assert torch.equal(value[[0, 2]], up.per_client["weights"][name])
        assert not value[1].any()
    # A client that was away begins from what it then receives.
    later = {name: value + 1 for name, value in server.items()}
    method.local_update(
        Round(task, 1, torch.tensor([1])), method.broadcast(Round(task, 1, clients), later), memory
    )
    assert not any(torch.equal(v[1:2], server[k]) for k, v in memory.previous.state.items())


def test_in_the_first_round_the_contrast_pulls_nowhere_at_first() -> None:
    z = torch.randn(2, 3, 4)
    same = torch.randn(2, 3, 4)
    found = model_contrast(z, same, same, 0.5)
    assert found.flatten().tolist() == pytest.approx([math.log(2)] * 6)
