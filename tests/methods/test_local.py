from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import Task
from fedrepro.methods.nn.classifier import ENCODER, Classifier, dense_head
from fedrepro.methods.nn.layers import BatchNorm, Conv2d, GlobalAveragePool, Layer, ReLU, Sequential
from fedrepro.methods.state import State, concatenate, part, repeat, take
from fedrepro.methods.training.evaluate import client_losses, features, probabilities
from fedrepro.methods.training.local import train_clients
from fedrepro.methods.training.local_loss import LocalOptions
from tests.methods.conftest import in_torch_nn, make_task, train_in_torch

EPOCHS, BATCH, RATE, T = 3, 4, 0.01, 2


def new_pool(task: Task, models: int = 1) -> State:
    return concatenate(task.new_model("model", n) for n in range(models))


def train(
    task: Task, pool: State, choice: Tensor, clients: Tensor, optimizer: str = "adam", **how: Any
) -> State:
    local = LocalOptions(EPOCHS, BATCH, RATE, optimizer)
    return train_clients(
        task.model, pool, choice, task.federation, clients, local, task.seeds, T, **how
    )


def plain_training(
    module: nn.Sequential, task: Task, client: int, optimizer: str, encoder_epochs: range
) -> None:
    index = task.federation.train_of[client]
    x, y = to_float(task.federation.train.images[index]), task.federation.train.labels[index]
    made = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[optimizer]
    stream = task.seeds.generator("batches", T, client)

    def epochs() -> Iterator[int]:
        for epoch in range(EPOCHS):
            for layer in list(module)[:-1]:
                layer.requires_grad_(epoch in encoder_epochs)
            yield epoch

    train_in_torch(module, made(module.parameters(), lr=RATE), x, y, BATCH, epochs(), stream)


@pytest.mark.parametrize("encoder_epochs", [0, 1, None])
def test_trained_models_share_no_memory_with_the_pool_nor_with_each_other(
    encoder_epochs: int | None,
) -> None:
    task = make_task(sizes=(4, 4))
    pool = new_pool(task)
    before = {name: value.clone() for name, value in pool.items()}
    trained = train(task, pool, torch.zeros(2, dtype=torch.int64), torch.arange(2),
                    encoder_epochs=encoder_epochs)  # fmt: skip
    second = {name: value[1].clone() for name, value in trained.items()}
    for name, value in trained.items():
        value[0] += 1.0
        assert torch.equal(value[1], second[name])
        assert torch.equal(pool[name], before[name])


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize(
    ("encoder_epochs", "those"),
    [(None, range(3)), (3, range(3)), (1, range(1)), (0, range(0)), (range(2, 3), range(2, 3))],
)
def test_batched_training_equals_plain_torch(
    optimizer: str, encoder_epochs: int | range | None, those: range
) -> None:
    task = make_task(sizes=(10, 10, 7))
    pool, choice = new_pool(task, 2), torch.tensor([1, 0, 1])
    options = {"optimizer": optimizer, "encoder_epochs": encoder_epochs}
    trained = train(task, pool, choice, torch.arange(3), **options)
    for client in range(3):
        module = in_torch_nn(take(pool, [int(choice[client])]))
        plain_training(module, task, client, optimizer, those)
        alone = in_torch_nn(take(trained, [client]))
        for ours, theirs in zip(alone.parameters(), module.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


class Counting(Layer):
    """An encoder that remembers how many images went through it in every pass."""

    def __init__(self, encoder: Layer) -> None:
        self.encoder = encoder
        self.passes: list[int] = []

    def new(self, generator: torch.Generator) -> State:
        return self.encoder.new(generator)

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        if x.device.type != "meta":  # shapes only, to estimate memory
            self.passes.append(x.shape[0] * x.shape[1])
        return self.encoder(state, x, training)


def test_a_frozen_encoder_is_unchanged_and_sees_every_image_once() -> None:
    task = make_task(sizes=(10, 7, 10))
    pool, choice = new_pool(task, 2), torch.tensor([1, 1, 0])
    counting = task.model.encoder = Counting(task.model.encoder)
    trained = train(task, pool, choice, torch.arange(3), encoder_epochs=0)
    assert sum(counting.passes) == 27
    for name, value in part(trained, ENCODER).items():
        assert torch.equal(value, pool[name][choice])
    assert not torch.equal(trained["head.0.weight"], pool["head.0.weight"][choice])


@pytest.mark.parametrize("shared_encoder", [False, True])
def test_losses_are_mean_cross_entropies_of_each_client_and_model(shared_encoder: bool) -> None:
    task = make_task(sizes=(10, 7, 4))
    pool, clients = new_pool(task, 3), torch.tensor([2, 0])
    if shared_encoder:
        pool.update(repeat(part(new_pool(task), ENCODER), 3))
    counting = task.model.encoder = Counting(task.model.encoder)
    losses = client_losses(task.model, pool, task.federation, clients)
    assert losses.shape == (2, 3)
    assert sum(counting.passes) == (1 if shared_encoder else 3) * (4 + 10)
    train_set = task.federation.train
    for i, client in enumerate([2, 0]):
        index = task.federation.train_of[client]
        for n in range(3):
            p = in_torch_nn(take(pool, [n]))(to_float(train_set.images[index])).softmax(1)
            right = p[torch.arange(len(index)), train_set.labels[index]]
            assert losses[i, n] == pytest.approx(float(-right.log().mean().detach()), rel=1e-5)


def test_probabilities_are_those_of_each_clients_own_model() -> None:
    task = make_task(test_sizes=(3, 8, 5))
    pool, choice, portion = new_pool(task, 2), torch.tensor([1, 0, 1]), task.federation.test
    found = probabilities(task.model, pool, choice, portion, task.federation.test_of)
    for client, index in enumerate(task.federation.test_of):
        module = in_torch_nn(take(pool, [int(choice[client])]))
        expected = module(to_float(portion.images[index])).softmax(1)
        torch.testing.assert_close(found[client], expected)


def with_batch_norm() -> Classifier:
    encoder = Sequential(
        Conv2d("encoder.conv", 1, 3, 3, 2),
        BatchNorm("encoder.norm", 3),
        ReLU(),
        GlobalAveragePool(),
    )
    return Classifier(encoder, 3, dense_head(3, (), 3))


def test_running_statistics_follow_torch_and_stop_when_the_encoder_is_frozen() -> None:
    task, model = make_task(sizes=(10, 10)), with_batch_norm()
    pool = model.new(torch.Generator().manual_seed(1))
    module, clients, first = nn.BatchNorm2d(3), torch.arange(2), torch.zeros(2).long()
    one_epoch, frozen = (
        train_clients(model, pool, first, task.federation, clients, options, task.seeds, T, 1)
        for options in (LocalOptions(epochs, BATCH, 0.0, "sgd") for epochs in (1, 3))
    )
    stream = task.seeds.generator("batches", T, 1)
    own = task.federation.train_of[1][torch.randperm(10, generator=stream)]
    for batch in own.split(4):
        x = to_float(task.federation.train.images[batch])
        module(F.conv2d(x, pool["encoder.conv.weight"][0], pool["encoder.conv.bias"][0], 2))
    for kind in ("running_mean", "running_var"):
        torch.testing.assert_close(one_epoch[f"encoder.norm.{kind}"][1], getattr(module, kind))
        assert torch.equal(one_epoch[f"encoder.norm.{kind}"], frozen[f"encoder.norm.{kind}"])


def test_a_frozen_encoder_uses_running_statistics() -> None:
    task, model = make_task(sizes=(10,)), with_batch_norm()
    pool, one = model.new(torch.Generator().manual_seed(1)), torch.zeros(1).long()
    train_set, own = task.federation.train, task.federation.train_of[0]
    (h,) = features(model, pool, one, train_set, [own])
    (single,) = features(model, pool, one, train_set, [own[:1]])
    torch.testing.assert_close(h[:1], single)
