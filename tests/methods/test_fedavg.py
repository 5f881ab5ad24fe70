from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.nn.classifier import ENCODER
from fedrepro.methods.state import State, part, take
from fedrepro.methods.training.local import train_clients
from fedrepro.methods.training.local_loss import LocalOptions
from tests.methods.conftest import MakeTask

METHOD = FedAvg(rounds=3, local_epochs=2, batch_size=4, learning_rate=0.01)


def trained_server(method: FedAvg, task: Task) -> State:
    server: State = method.start(task, 0)
    for t in range(method.rounds):
        clients = method.participants(task, t)
        download = method.broadcast(Round(task, t, clients), server)
        upload = method.local_update(Round(task, t, clients), download, method.new_memory(task))
        server = method.aggregate(Round(task, t, clients), server, upload)
    return server


def test_one_client_is_plain_training(make_task: MakeTask) -> None:
    task = make_task(sizes=(10,))
    state = task.new_model("model", 0, 0)
    for t in range(3):
        state = train_clients(
            task.model,
            state,
            torch.zeros(1).long(),
            task.federation,
            torch.arange(1),
            LocalOptions(epochs=2, batch_size=4, learning_rate=0.01),
            task.seeds,
            t,
        )
    for name, value in trained_server(METHOD, task).items():
        assert torch.equal(value, state[name])


def test_clients_are_weighted_by_their_images_as_numpy_averages(make_task: MakeTask) -> None:
    task = make_task(sizes=(10, 4, 7))
    stacked = {"encoder.w": torch.randn(2, 3, 4), "head.b": torch.randn(2, 5)}
    upload = Message(per_client={"weights": stacked})
    average = METHOD.aggregate(Round(task, 0, torch.tensor([2, 0])), None, upload)
    for name, value in stacked.items():
        expected = np.average(value.numpy(), axis=0, weights=[7, 10])
        np.testing.assert_allclose(average[name][0].numpy(), expected, rtol=1e-6)


def test_a_round_is_the_average_of_clients_trained_alone(make_task: MakeTask) -> None:
    task = make_task(sizes=(10, 4, 7))
    start = METHOD.start(task, 0)
    download = METHOD.broadcast(Round(task, 0, torch.arange(3)), start)
    alone = [
        METHOD.local_update(
            Round(task, 0, torch.tensor([client])), download, METHOD.new_memory(task)
        ).per_client["weights"]
        for client in range(3)
    ]
    server = trained_server(replace(METHOD, rounds=1), task)
    for name in server:
        expected = np.average([s[name][0].numpy() for s in alone], axis=0, weights=[10, 4, 7])
        np.testing.assert_allclose(server[name][0].numpy(), expected, rtol=1e-4, atol=1e-6)


def test_a_pre_trained_encoder_is_where_training_starts(make_task: MakeTask) -> None:
    task = make_task()
    encoder = part(task.new_model("elsewhere"), ENCODER)
    random, pretrained = METHOD.start(task, 0), METHOD.start(replace(task, encoder=encoder), 0)
    for name, value in pretrained.items():
        assert torch.equal(value, encoder.get(name, random[name]))


def test_the_encoder_handed_on_is_the_trained_one(make_task: MakeTask) -> None:
    task = make_task()
    server, encoder = trained_server(METHOD, task), run(METHOD, task).encoder
    assert encoder is not None
    assert encoder.keys() == part(server, ENCODER).keys()
    assert all(torch.equal(value, server[name]) for name, value in encoder.items())


def test_only_participants_are_averaged(make_task: MakeTask) -> None:
    task = make_task(sizes=(10, 10, 10, 10))
    method = replace(METHOD, participation=0.5, rounds=1)
    clients = method.participants(task, 0)
    assert len(clients) == 2
    download = method.broadcast(Round(task, 0, clients), method.start(task, 0))
    everyone = method.local_update(
        Round(task, 0, torch.arange(4)), download, method.new_memory(task)
    ).per_client["weights"]
    expected = {name: v.mean(0) for name, v in take(everyone, clients).items()}
    for name, value in trained_server(method, task).items():
        torch.testing.assert_close(value[0], expected[name], rtol=1e-4, atol=1e-6)


def test_classes_of_clients_are_counted(make_task: MakeTask) -> None:
    task = make_task(sizes=(4, 4))
    labels = task.federation.train.labels
    assert labels is not None
    labels.copy_(torch.tensor([0, 0, 0, 2, 1, 1, 1, 1]))
    outcome = run(METHOD, task)
    assert outcome.metrics["classes_per_client"].values == (1.5,)
