from dataclasses import replace
from typing import Any

import pytest
import torch

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.reference.centralized import Centralized
from fedrepro.methods.federated.reference.centralized_moco import CentralizedMoCo
from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised
from fedrepro.methods.federated.self_supervised.fedbyol import FedBYOL
from fedrepro.methods.federated.self_supervised.fedrot import FedRot
from fedrepro.methods.federated.self_supervised.fedsimclr import FedSimCLR
from fedrepro.methods.federated.self_supervised.fedswav import FedSwAV
from fedrepro.methods.objectives.byol import BYOL
from fedrepro.methods.objectives.moco import MoCo
from fedrepro.methods.objectives.rotation import Rotation
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.objectives.swav import SwAV
from fedrepro.methods.state import State, n_models
from tests.methods.conftest import after_rounds, learn_in_torch, make_task, one_round, trained_alone

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


@pytest.mark.parametrize(("method", "objective"), METHODS)
def test_the_loss_falls_and_is_logged_by_client(method: SelfSupervised, objective: Any) -> None:
    task = with_objective(make_task((12, 12, 12)), objective)
    task = replace(task, augmentation=Augmentation(crop_scale=(0.9, 1.0), flip_probability=0.0))
    outcome = loop.run(replace(method, rounds=20), task)
    losses = outcome.arrays["loss"]
    assert losses.shape == (20, 3)
    assert losses[-5:].mean() < 0.97 * losses[:5].mean()
    spread = outcome.metrics["representation_std"]
    assert spread.rounds == tuple(range(1, 21))
    assert 0 < spread.values[0] <= 1.01
    assert n_models(outcome.encoder) == 1


def test_one_clients_round_is_the_objective_trained_by_hand() -> None:
    method, objective = METHODS[0]
    task = with_objective(make_task((9,)), objective)
    learner = method.learner(task)
    state = method.start(task, 0)
    learn_in_torch(task, learner, state, {}, epochs=2)  # the ninth image has no negatives
    found, _ = after_rounds(replace(method, rounds=1), task)
    for name, value in state.items():
        torch.testing.assert_close(found[name], value.detach(), rtol=1e-5, atol=1e-6, msg=name)


def test_a_kept_target_network_outlives_the_round_and_only_moves_with_its_client() -> None:
    task = with_objective(make_task((8, 8, 8)), METHODS[1][1])
    method = FedBYOL(**{**OPTIONS, "rounds": 1}, keeps_target=True)
    server, memory = method.start(task, 0), method.new_memory(task)
    seen = []
    for t, clients in enumerate([torch.tensor([0, 1]), torch.tensor([1])]):
        one_round(method, Round(task, t, clients), server, memory)
        seen.append({name: value.clone() for name, value in memory.objective.state.items()})
    name = "encoder.conv0.weight"
    assert torch.equal(seen[0][name][0], seen[1][name][0])
    assert not torch.equal(seen[0][name][1], seen[1][name][1])
    assert not seen[1][name][2].any()


def test_the_rate_falls_to_a_tenth_after_shares_of_the_rounds_and_decays_with_each() -> None:
    """HeteroFL's 300 and 500 of 800 rounds; IFCA's hundredth a round."""
    steps = FedSimCLR(rounds=800, learning_rate=0.1, rate_falls=(0.375, 0.625))
    rates = [steps.local_options(t).learning_rate for t in (0, 299, 300, 499, 500, 799)]
    assert rates == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])
    decays = FedSimCLR(rounds=10, learning_rate=0.1, rate_decay=0.99)
    assert decays.local_options(7).learning_rate == pytest.approx(0.1 * 0.99**7)


def test_the_cosine_schedule_falls_from_the_rate_to_nearly_zero() -> None:
    method = FedSimCLR(rounds=10, learning_rate=0.2, schedule="cosine")
    rates = [method.local_options(t).learning_rate for t in range(10)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[5] == pytest.approx(0.1)
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 0.01


METHOD = CentralizedMoCo(rounds=3, local_epochs=2, batch_size=5, learning_rate=0.01)
OBJECTIVE = MoCo(projector_widths=(6, 4), queue_size=8, target_momentum=0.9)


def pooled(task: Task) -> Task:
    """The task of the one client who holds everything, as the loop hands it over."""
    pool = METHOD.prepare(task.federation)
    return replace(with_objective(task, OBJECTIVE), federation=pool)


def test_the_queue_and_the_copy_go_on_from_round_to_round() -> None:
    task, clients = pooled(make_task((8, 8))), torch.zeros(1, dtype=torch.int64)
    server, memory = METHOD.start(task, 0), METHOD.new_memory(task)
    seen: list[State] = []
    for t in range(2):
        one_round(METHOD, Round(task, t, clients), server, memory)
        seen.append({name: value.clone() for name, value in memory.objective.state.items()})
    assert seen[0]["queue.filled"].tolist() == [8]
    name = "encoder.conv0.weight"
    assert not torch.equal(seen[0][name], seen[1][name])
    assert not torch.equal(seen[1][name], memory.models[name])


CENTRALIZED_METHOD = Centralized(rounds=2, local_epochs=2, batch_size=4, learning_rate=0.01)


def grouped(task: Task, *group: int) -> Task:
    return replace(task, federation=replace(task.federation, group=torch.tensor(group)))


def test_one_pool_holds_the_images_of_all_clients() -> None:
    federation = grouped(make_task(sizes=(5, 3, 4)), 0, 1, 0).federation
    pooled = CENTRALIZED_METHOD.prepare(federation)
    assert pooled.n_clients == 1
    assert pooled.train_of[0].tolist() == list(range(12))
    assert pooled.test_of[0].tolist() == list(range(12))


def test_pools_by_cluster_hold_their_groups_images_as_often_as_clients_do() -> None:
    federation = grouped(make_task(sizes=(2, 3, 2)), 1, 4, 1).federation
    twice = torch.tensor([0, 6])
    federation = replace(federation, train_of=(*federation.train_of[:2], twice))
    pooled = Centralized(by="cluster").prepare(federation)
    assert [index.tolist() for index in pooled.train_of] == [[0, 1, 0, 6], [2, 3, 4]]
    assert pooled.group.tolist() == [1, 4]


def test_pools_are_trained_apart_and_evaluated_on_their_own_test_images() -> None:
    task = grouped(make_task(sizes=(5, 3, 4, 4)), 0, 1, 0, 1)
    method = replace(CENTRALIZED_METHOD, by="cluster")
    pooled = method.prepare(task.federation)
    accuracies, test = [], pooled.test
    for pool in range(2):
        alone = trained_alone(replace(task, federation=pooled), pool, CENTRALIZED_METHOD.rounds)
        index = pooled.test_of[pool]
        predicted = task.model(alone, to_float(test.images[index])[None])[0].argmax(1)
        accuracies.append(float((predicted == test.labels[index]).double().mean()))
    outcome = run(method, task)
    assert outcome.arrays["client_accuracy"].shape == (2, 2)
    assert abs(outcome.metrics["accuracy"].read("final") - sum(accuracies) / 2) < 1e-9


def test_nothing_is_exchanged_and_nothing_is_left_out() -> None:
    outcome = run(
        replace(CENTRALIZED_METHOD, participation=0.1, by="cluster"), grouped(make_task(), 0, 1, 2)
    )
    assert outcome.counts["downloaded_bytes"] == outcome.counts["uploaded_bytes"] == 0
    assert outcome.arrays["client_accuracy"].shape == (2, 3)
