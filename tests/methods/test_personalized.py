from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.data.federation import ImageSet, to_float
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.personalized._personalized import Personalized
from fedrepro.methods.federated.personalized.perfedavg import PerFedAvg, stepped
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.nn.classifier import ENCODER, HEAD
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.registry import find, names
from fedrepro.methods.state import State, part, repeat, take
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import after_rounds, in_torch_nn, make_task, one_round, train_in_torch

SGD: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 0.05}
FEDERATED = {"rounds": 2, "local_epochs": 3, "batch_size": 4, **SGD}
OPTIONS = {**FEDERATED, "personal_epochs": 2, "personal_batch_size": 4}
PERSONALIZED = [
    name for name in names("federated") if issubclass(find("federated", name), Personalized)
]


def method(name: str, **options: Any) -> Personalized:
    made: Personalized = find("federated", name)(**{**OPTIONS, **options})
    return made


def with_novel(task: Task, novel: int) -> Task:
    return replace(task, federation=replace(task.federation, novel=novel))


@pytest.mark.parametrize("name", PERSONALIZED)
def test_both_groups_are_measured_after_the_last_round(name: str) -> None:
    outcome = loop.run(method(name), with_novel(make_task((8, 8, 8, 8, 8)), 2))
    accuracy = torch.from_numpy(outcome.arrays["client_accuracy"])
    assert accuracy.shape == (1, 5)
    for prefix, group in (("", accuracy[0, :3]), ("novel_", accuracy[0, 3:])):
        assert outcome.metrics[f"{prefix}accuracy"].read("final") == pytest.approx(
            float(group.mean())
        )
        assert outcome.metrics[f"{prefix}accuracy_variance"].read(2) == pytest.approx(
            float(group.var(correction=0)), abs=1e-7
        )


@pytest.mark.parametrize("name", PERSONALIZED)
def test_novel_clients_data_are_not_touched_before_personalisation(name: str) -> None:
    task = with_novel(make_task((8, 8, 8, 8, 8)), 2)
    held = torch.cat(task.federation.train_of[3:])
    images, labels = task.federation.train.images.clone(), task.federation.train.labels
    other = labels.clone()
    images[held], other[held] = 255 - images[held], (other[held] + 1) % 3
    changed = replace(task, federation=replace(task.federation, train=ImageSet(images, other)))

    m = method(name)
    (server, memory), (same, kept) = after_rounds(m, task), after_rounds(m, changed)
    assert server.keys() == same.keys()
    assert all(torch.equal(value, same[key]) for key, value in server.items())
    both = zip(memory.tensors(), kept.tensors(), strict=True)
    assert all(torch.equal(value, other) for value, other in both)
    m.finish(task, server, memory)
    m.finish(changed, same, kept)
    ours, theirs = memory.adapted, kept.adapted
    assert all(torch.equal(v[:3], theirs[key][:3]) for key, v in ours.items())
    assert any(not torch.equal(v[3:], theirs[key][3:]) for key, v in ours.items())


@pytest.mark.parametrize("name", ["fedper", "fedrep", "fedbabu", "lg-fedavg"])
def test_what_is_private_is_never_sent(name: str) -> None:
    task, m = make_task((8, 8)), method(name)
    sent = HEAD if name == "lg-fedavg" else ENCODER
    server, memory, clients = m.start(task, 0), m.new_memory(task), torch.arange(2)
    download, upload, _ = one_round(m, Round(task, 0, clients), server, memory)
    for message in (download.shared, upload.per_client):
        assert message.keys() == {"weights"}
        assert {key.partition(".")[0] for key in message["weights"]} == {sent}


@pytest.mark.parametrize("name", ["fedper", "fedrep", "lg-fedavg"])
def test_private_weights_outlive_a_round(name: str) -> None:
    task, m = make_task((8, 8)), method(name)
    server, memory, clients = m.start(task, 0), m.new_memory(task), torch.arange(2)
    _, _, server = one_round(m, Round(task, 0, clients), server, memory)
    kept = take(memory.private.state, clients)
    received = m.broadcast(Round(task, 1, clients), server).shared["weights"]
    start = {**repeat(received, 2), **kept}
    expected = m.train(Round(task, 1, clients), m.local_loss(task, received), start).state
    one_round(m, Round(task, 1, clients), server, memory)
    for key, value in memory.private.state.items():
        assert torch.equal(value, expected[key])
        assert not torch.equal(value[0], value[1])


def test_heads_are_adapted_as_torch_trains_them_one_by_one() -> None:
    task, m = make_task((8, 6)), method("fedavg-ft", rounds=0)
    server, memory = m.start(task, 0), m.new_memory(task)
    m.finish(task, server, memory)
    labels = task.federation.train.labels
    for client, own in enumerate(task.federation.train_of):
        with torch.no_grad():
            h = task.model.features(server, to_float(task.federation.train.images[own])[None])[0]
        head, stream = in_torch_nn(part(server, HEAD)), task.seeds.generator("batches", 0, client)
        steps = torch.optim.SGD(head.parameters(), lr=0.05)
        train_in_torch(head, steps, h, labels[own], 4, range(2), stream)
        weight, bias = head.parameters()
        torch.testing.assert_close(memory.adapted["head.0.weight"][client], weight.data)
        torch.testing.assert_close(memory.adapted["head.0.bias"][client], bias.data)
        for key, value in part(memory.adapted, ENCODER).items():
            assert torch.equal(value[client], server[key][0])


def test_fedavg_ft_trains_as_fedavg_does() -> None:
    task = make_task((8, 6, 8))
    server, _ = after_rounds(method("fedavg-ft"), task)
    expected, _ = after_rounds(FedAvg(**FEDERATED), task)
    assert all(torch.equal(value, expected[key]) for key, value in server.items())


def test_fedper_trains_its_head_together_with_the_encoder() -> None:
    task = make_task((8,))
    server, memory = after_rounds(method("fedper", rounds=1), task)
    expected, _ = after_rounds(method("fedavg-ft", rounds=1), task)
    assert all(torch.equal(memory.private.state[k], v) for k, v in part(expected, HEAD).items())
    assert all(torch.equal(server[k], v) for k, v in part(expected, ENCODER).items())


def test_fedrep_trains_the_head_first_and_the_body_under_the_trained_head() -> None:
    """By hand, with a single batch an epoch: two steps of the head, then one of the body."""
    task, m = make_task((8,)), method("fedrep", batch_size=8)
    start, own = m.start(task, 0), task.federation.train_of[0]
    x, y = to_float(task.federation.train.images[own])[None], task.federation.train.labels[own]
    by_hand = {key: value.clone() for key, value in start.items()}
    for group in (HEAD, HEAD, ENCODER):
        weights = {k: v for k, v in part(by_hand, group).items() if not is_buffer(k)}
        for value in weights.values():
            value.requires_grad_()
        loss = F.cross_entropy(task.model(by_hand, x)[0], y)
        for key, gradient in zip(
            weights, torch.autograd.grad(loss, list(weights.values())), strict=True
        ):
            by_hand[key] = (weights[key] - 0.05 * gradient).detach()
        by_hand = {key: value.detach() for key, value in by_hand.items()}
    found = m.train(Round(task, 0, torch.arange(1)), m.local_loss(task, start), start).state
    for key, value in found.items():
        torch.testing.assert_close(value, by_hand[key])


def test_fedbabus_head_does_not_move_before_personalisation() -> None:
    task, m = make_task((8, 8)), method("fedbabu")
    first = m.start(task, 0)
    server, memory = after_rounds(m, task)
    assert all(torch.equal(server[key], value) for key, value in part(first, HEAD).items())
    assert all(
        torch.equal(value, repeat(part(first, HEAD), 2)[key])
        for key, value in memory.private.state.items()
    )
    moved = [not torch.equal(server[k], v) for k, v in part(first, ENCODER).items()]
    assert all(moved)
    m.finish(task, server, memory)
    assert not torch.equal(memory.adapted["head.0.weight"][:1], first["head.0.weight"])


def test_lg_fedavg_averages_heads_and_adapts_whole_models() -> None:
    task, m = with_novel(make_task((8, 8, 8)), 1), method("lg-fedavg")
    first = m.start(task, 0)
    server, memory = after_rounds(m, task)
    assert all(torch.equal(server[key], value) for key, value in part(first, ENCODER).items())
    novel = part(m.begin(Round(task, 0, torch.tensor([2])), server, memory), ENCODER)
    assert all(torch.equal(value, first[key]) for key, value in novel.items())
    m.finish(task, server, memory)
    for key, value in part(memory.adapted, ENCODER).items():
        assert not torch.equal(value[:2], memory.private.state[key][:2])


def test_the_meta_step_by_hand_on_a_quadratic() -> None:
    """f(w) = (w - 1)²/2, α = 0.1, w = 3: w' = 2.8, and g(w) = w²/2 is then met at 2.8."""
    w = torch.tensor([[3.0]], requires_grad=True)
    ahead = stepped({"w": w}, (w[:, 0] - 1).square() / 2, 0.1)["w"]
    assert ahead.item() == pytest.approx(2.8)
    (ahead.square() / 2).sum().backward()
    assert w.grad.item() == pytest.approx(2.8)  # second order would give 2.8 * (1 - 0.1)


def test_perfedavg_steps_along_the_second_halfs_gradient_after_a_step_on_the_first() -> None:
    task = make_task((8, 8))
    m = PerFedAvg(**{**OPTIONS, "step_size": 0.3})
    start = repeat(m.start(task, 0), 2)
    for value in start.values():
        value.requires_grad_()
    index = torch.stack([own[:6] for own in task.federation.train_of])
    loss = m.local_loss(task, start).loss(start, {}, Batch((0, 1), index, index, 0)).sum()
    found = torch.autograd.grad(loss, list(start.values()))
    labels = task.federation.train.labels

    def loss_on(state: State, own: Tensor) -> Tensor:
        x = to_float(task.federation.train.images[own])[None]
        return F.cross_entropy(task.model(state, x, training=True)[0], labels[own])

    for client in range(2):
        alone = {key: v[client : client + 1].detach() for key, v in start.items()}
        near = {key: v.clone().requires_grad_() for key, v in alone.items()}
        first = torch.autograd.grad(loss_on(near, index[client, :3]), list(near.values()))
        far = {
            key: (v - 0.3 * g).detach().requires_grad_()
            for (key, v), g in zip(alone.items(), first, strict=True)
        }
        second = torch.autograd.grad(loss_on(far, index[client, 3:]), list(far.values()))
        for ours, theirs in zip(found, second, strict=True):
            torch.testing.assert_close(ours[client], theirs[0])


def test_local_training_exchanges_nothing_and_runs_its_epochs() -> None:
    task, m = make_task((8, 8)), method("local-only", epochs=3, batch_size=8)
    counts = loop.run(m, task).counts
    assert counts["downloaded_bytes"] == counts["uploaded_bytes"] == 0
    server, memory = m.start(task, 0), m.new_memory(task)
    m.finish(task, server, memory)
    options = replace(m.local_options(0), epochs=3)
    loss = m.local_loss(task, server)
    once = m.train(Round(task, 0, torch.arange(2)), loss, repeat(server, 2), options=options)
    assert all(torch.equal(value, once.state[key]) for key, value in memory.adapted.items())


def test_converged_training_goes_on_until_its_loss_stops_falling() -> None:
    task = make_task((8, 8))
    final = []
    for longest in (5, 200):
        options = {"epochs": 5, "longest": longest, "batch_size": 8, "learning_rate": 0.5}
        m = method("local-only", until_converged=True, **options)
        server, memory = m.start(task, 0), m.new_memory(task)
        m.finish(task, server, memory)
        piece = m.train(
            Round(task, 99, torch.arange(2)), m.local_loss(task, server), memory.adapted
        )
        final.append(piece.loss)
    assert (final[1] < 0.9 * final[0]).all()
    steady = method("local-only", epochs=5, until_converged=True, tolerance=0.99, batch_size=8)
    server, memory = steady.start(task, 0), steady.new_memory(task)
    steady.finish(task, server, memory)
    two = method("local-only", epochs=5, until_converged=True, longest=10, batch_size=8)
    again = two.new_memory(task)
    two.finish(task, server, again)
    assert all(torch.equal(v, again.adapted[key]) for key, v in memory.adapted.items())
