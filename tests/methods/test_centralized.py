from __future__ import annotations

from dataclasses import replace

import torch

from fedrepro.methods.data.federation import Federation, to_float
from fedrepro.methods.federated.base import Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.reference.centralized import Centralized
from fedrepro.methods.state import State
from fedrepro.methods.training.local import train_clients
from fedrepro.methods.training.local_loss import LocalOptions
from tests.methods.conftest import MakeTask

METHOD = Centralized(rounds=2, local_epochs=2, batch_size=4, learning_rate=0.01)


def grouped(task: Task, *group: int) -> Task:
    return replace(task, federation=replace(task.federation, group=torch.tensor(group)))


def test_one_pool_holds_the_images_of_all_clients(make_task: MakeTask) -> None:
    federation = grouped(make_task(sizes=(5, 3, 4)), 0, 1, 0).federation
    pooled = METHOD.prepare(federation)
    assert pooled.n_clients == 1
    assert pooled.train_of[0].tolist() == list(range(12))
    assert pooled.test_of[0].tolist() == list(range(12))


def test_pools_by_cluster_hold_their_groups_images_as_often_as_clients_do(
    make_task: MakeTask,
) -> None:
    federation = grouped(make_task(sizes=(2, 3, 2)), 1, 4, 1).federation
    twice = torch.tensor([0, 6])
    federation = replace(federation, train_of=(*federation.train_of[:2], twice))
    pooled = Centralized(by="cluster").prepare(federation)
    assert [index.tolist() for index in pooled.train_of] == [[0, 1, 0, 6], [2, 3, 4]]
    assert pooled.group.tolist() == [1, 4]


def plain(task: Task, federation: Federation, pool: int) -> State:
    """One pool trained as the only client of a federation."""
    state = task.new_model("model", 0, 0)
    for t in range(METHOD.rounds):
        state = train_clients(
            task.model,
            state,
            torch.zeros(1).long(),
            federation,
            torch.tensor([pool]),
            LocalOptions(epochs=2, batch_size=4, learning_rate=0.01),
            task.seeds,
            t,
        )
    return state


def test_pools_are_trained_apart_and_evaluated_on_their_own_test_images(
    make_task: MakeTask,
) -> None:
    task = grouped(make_task(sizes=(5, 3, 4, 4)), 0, 1, 0, 1)
    method = replace(METHOD, by="cluster")
    pooled = method.prepare(task.federation)
    accuracies, test = [], pooled.test
    assert test.labels is not None
    for pool in range(2):
        state, index = plain(task, pooled, pool), pooled.test_of[pool]
        predicted = task.model(state, to_float(test.images[index])[None])[0].argmax(1)
        accuracies.append(float((predicted == test.labels[index]).double().mean()))
    outcome = run(method, task)
    assert outcome.arrays["client_accuracy"].shape == (2, 2)
    assert abs(outcome.metrics["accuracy"].read("final") - sum(accuracies) / 2) < 1e-9


def test_nothing_is_exchanged_and_nothing_is_left_out(make_task: MakeTask) -> None:
    outcome = run(replace(METHOD, participation=0.1, by="cluster"), grouped(make_task(), 0, 1, 2))
    assert outcome.counts["downloaded_bytes"] == outcome.counts["uploaded_bytes"] == 0
    assert outcome.arrays["client_accuracy"].shape == (2, 3)
