"""Local self-supervised training, and the federated methods that average what it gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised
from fedrepro.methods.federated.self_supervised.fedbyol import FedBYOL
from fedrepro.methods.federated.self_supervised.fedrot import FedRot
from fedrepro.methods.federated.self_supervised.fedsimclr import FedSimCLR
from fedrepro.methods.federated.self_supervised.fedswav import FedSwAV
from fedrepro.methods.objectives.byol import BYOL
from fedrepro.methods.objectives.rotation import Rotation
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.objectives.swav import SwAV
from fedrepro.methods.state import State, n_models
from tests.methods.conftest import MakeTask

OPTIONS: dict[str, Any] = {"rounds": 2, "local_epochs": 2, "batch_size": 4, "learning_rate": 0.01}
METHODS = [
    (FedSimCLR(**OPTIONS), SimCLR(projector_widths=(6, 4))),
    (FedBYOL(**OPTIONS), BYOL(projector_widths=(6, 4), predictor_width=5)),
    (FedRot(**OPTIONS), Rotation()),
    (
        FedSwAV(**OPTIONS),
        SwAV(projector_widths=(6, 4), normalised_layers=0, prototypes=3, queue_size=5),
    ),
]


def with_objective(task: Task, objective: Any) -> Task:
    return replace(task, objective=objective, augmentation=Augmentation(crop_scale=(0.5, 1.0)))


def trained(method: SelfSupervised, task: Task) -> State:
    server, memory = method.start(task, 0), method.new_memory(task)
    for t in range(method.rounds):
        clients = method.participants(task, t)
        download = method.broadcast(Round(task, t, clients), server)
        upload = method.local_update(Round(task, t, clients), download, memory)
        server = method.aggregate(Round(task, t, clients), server, upload)
    state: State = server
    return state


@pytest.mark.parametrize(("method", "objective"), METHODS)
def test_the_loss_falls_and_is_logged_for_every_client(
    make_task: MakeTask, method: SelfSupervised, objective: Any
) -> None:
    task = with_objective(make_task((12, 12, 12)), objective)
    task = replace(task, augmentation=Augmentation(crop_scale=(0.9, 1.0), flip_probability=0.0))
    outcome = loop.run(replace(method, rounds=20), task)
    losses = outcome.arrays["loss"]
    assert losses.shape == (20, 3)
    assert losses[-5:].mean() < 0.97 * losses[:5].mean()
    spread = outcome.metrics["representation_std"]
    assert spread.rounds == tuple(range(1, 21))
    assert 0 < spread.values[0] <= 1.01
    assert outcome.encoder is not None
    assert n_models(outcome.encoder) == 1


def test_one_clients_round_is_the_objective_trained_by_hand(make_task: MakeTask) -> None:
    method, objective = METHODS[0]
    task = with_objective(make_task((9,)), objective)
    learner = method.learner(task)
    state = method.start(task, 0)
    for value in state.values():
        value.requires_grad_()
    steps = torch.optim.Adam(list(state.values()), lr=0.01)
    order = task.seeds.generator("batches", 0, 0)
    looks = task.seeds.generator("views", 0, 0)
    assert task.augmentation is not None
    for _ in range(2):
        shuffled = torch.randperm(9, generator=order)
        for batch in (shuffled[:4], shuffled[4:8]):  # the ninth image has no negatives
            views = task.augmentation.views(task.federation.train.images[batch], 2, looks)
            steps.zero_grad()
            learner.loss(state, {}, [view[None] for view in views], None).sum().backward()
            steps.step()
    found = trained(replace(method, rounds=1), task)
    for name, value in state.items():
        torch.testing.assert_close(found[name], value.detach(), rtol=1e-5, atol=1e-6, msg=name)


def test_a_kept_target_network_outlives_the_round_and_only_moves_with_its_client(
    make_task: MakeTask,
) -> None:
    task = with_objective(make_task((8, 8, 8)), METHODS[1][1])
    method = FedBYOL(**{**OPTIONS, "rounds": 1}, keeps_target=True)
    memory = method.new_memory(task)
    server = method.start(task, 0)
    seen = []
    for t, clients in enumerate([torch.tensor([0, 1]), torch.tensor([1])]):
        download = method.broadcast(Round(task, t, clients), server)
        method.local_update(Round(task, t, clients), download, memory)
        seen.append({name: value.clone() for name, value in memory.objective.state.items()})
    name = "encoder.conv0.weight"
    assert torch.equal(seen[0][name][0], seen[1][name][0])
    assert not torch.equal(seen[0][name][1], seen[1][name][1])
    assert not seen[1][name][2].any()


def test_the_cosine_schedule_falls_from_the_rate_to_nearly_zero() -> None:
    method = FedSimCLR(rounds=10, learning_rate=0.2, schedule="cosine")
    rates = [method.local_options(t).learning_rate for t in range(10)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[5] == pytest.approx(0.1)
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 0.01
