"""FedEMA's and FedU's updates on two clients, by hand, and over rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated.base import Round
from fedrepro.methods.federated.self_supervised._local_models import (
    KeepsLocalModel,
    encoder_distance,
    mean_layer_distance,
    mixed,
)
from fedrepro.methods.federated.self_supervised.fedema import FedEMA
from fedrepro.methods.federated.self_supervised.fedu import FedU
from fedrepro.methods.objectives.byol import BYOL
from fedrepro.methods.state import State, repeat, take
from tests.methods.conftest import MakeTask

TWO = torch.tensor([0, 1])


def states() -> tuple[State, State]:
    """What two clients receive, and their own models: 3-4-5 and 6-8-10 triangles away."""
    received = {
        "encoder.a.weight": torch.zeros(2, 1, 2),
        "encoder.norm.running_mean": torch.zeros(2, 1),
        "projector.0.weight": torch.zeros(2, 1, 1),
        "predictor.0.weight": torch.zeros(2, 1, 1),
    }
    own = {
        "encoder.a.weight": torch.tensor([[[3.0, 0.0]], [[6.0, 0.0]]]),
        "encoder.norm.running_mean": torch.tensor([[100.0], [100.0]]),
        "projector.0.weight": torch.tensor([[[4.0]], [[8.0]]]),
        "predictor.0.weight": torch.tensor([[[7.0]], [[7.0]]]),
    }
    return received, own


def test_distance_counts_trained_weights_of_encoder_and_projector() -> None:
    received, own = states()
    assert encoder_distance(received, own).tolist() == [5.0, 10.0]
    assert mean_layer_distance(received, own).tolist() == [3.5, 7.0]


def test_mixing_takes_each_clients_share_of_its_own_model() -> None:
    received, own = states()
    found = mixed(own, received, torch.tensor([0.25, 1.0]))
    assert found["encoder.a.weight"].tolist() == [[[0.75, 0.0]], [[6.0, 0.0]]]
    assert found["predictor.0.weight"].flatten().tolist() == [1.75, 7.0]
    assert found["encoder.norm.running_mean"].flatten().tolist() == [25.0, 100.0]


def test_fedema_scales_each_client_by_its_first_divergence(make_task: MakeTask) -> None:
    method, task = FedEMA(autoscaler_tau=0.5), make_task((4, 4))
    memory = method.new_memory(task)
    received, own = states()
    first = method.merge(Round(task, 1, TWO), received, own, memory)
    # Whatever the divergence, the first share is τ: λ is 0.1 and 0.05.
    assert first["encoder.a.weight"][:, 0, 0].tolist() == pytest.approx([1.5, 3.0])
    assert first["predictor.0.weight"].flatten().tolist() == pytest.approx([3.5, 3.5])
    assert memory.scale.tolist() == pytest.approx([0.1, 0.05])

    # Client 0 has come closer (a fifth of its first divergence), client 1 has drifted (3 times).
    closer_and_further = {
        k: v * torch.tensor([0.2, 3.0]).view(2, *[1] * (v.dim() - 1)) for k, v in own.items()
    }
    later = method.merge(Round(task, 2, TWO), received, closer_and_further, memory)
    assert later["encoder.a.weight"][:, 0, 0].tolist() == pytest.approx([0.1 * 0.6, 18.0])


def test_fedu_keeps_its_own_predictor_only_where_models_diverged(make_task: MakeTask) -> None:
    received, own = states()
    method, task = FedU(divergence_threshold=5.0), make_task((4, 4))
    merged = method.merge(Round(task, 1, TWO), received, own, method.new_memory(task))
    assert merged["predictor.0.weight"].flatten().tolist() == [0.0, 7.0]
    for name in ("encoder.a.weight", "projector.0.weight", "encoder.norm.running_mean"):
        assert torch.equal(merged[name], received[name])


@pytest.mark.parametrize(
    ("distance", "expected"),
    [("norm", [5.0, 10.0]), ("layers", [3.5, 7.0]), ("convolutions", [3.0, 6.0])],
)
def test_the_first_scale_is_of_the_distance_that_is_asked_for(
    make_task: MakeTask, distance: Any, expected: list[float]
) -> None:
    kernel = "encoder.a.weight"
    received, own = (
        {k: v.view(2, 1, 2, 1, 1) if k == kernel else v for k, v in each.items()}
        for each in states()
    )
    method, task = FedEMA(autoscaler_tau=0.5, distance=distance), make_task((4, 4))
    memory = method.new_memory(task)
    method.merge(Round(task, 1, TWO), received, own, memory)
    assert (0.5 / memory.scale).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("method", [FedEMA(), FedU(divergence_threshold=0.0)], ids=["ema", "u"])
def test_the_next_round_starts_from_the_mixture_of_received_and_kept(
    make_task: MakeTask, method: KeepsLocalModel
) -> None:
    method = replace(method, rounds=2, local_epochs=1, batch_size=5, optimizer="sgd")
    task = replace(
        make_task((10, 7)),
        objective=BYOL(projector_widths=(6, 4), predictor_width=5),
        augmentation=Augmentation(crop_scale=(0.5, 1.0)),
    )
    memory = method.new_memory(task)
    server = method.start(task, 0)
    download = method.broadcast(Round(task, 0, TWO), server)
    start = method.begin(Round(task, 0, TWO), download, memory)
    assert all(torch.equal(start[name][1], server[name][0]) for name in server)

    # Only client 1 trains in the first round: client 0 meets the second one as a newcomer.
    only = torch.tensor([1])
    upload = method.local_update(Round(task, 0, only), download, memory)
    own = upload.per_client["weights"]
    target = take(memory.objective.state, only)
    download = method.broadcast(Round(task, 1, TWO), server)
    start = method.begin(Round(task, 1, TWO), download, memory)
    assert all(torch.equal(start[name][0], server[name][0]) for name in server)
    share = {"FedEMA": 0.7, "FedU": 1.0}[type(method).__name__]
    expected = mixed(own, repeat(server, 1), torch.tensor([share]))
    moved = "predictor.0.weight"
    torch.testing.assert_close(start[moved][1:], expected[moved])
    assert not torch.equal(start[moved][1], server[moved][0])
    # The target network stays on the client.
    kept = memory.objective.recall(TWO, method.learner(task).memory(start))
    assert all(torch.equal(kept[name][1], target[name][0]) for name in target)
