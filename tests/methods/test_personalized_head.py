"""Heads of clients on an encoder whose output is the image's pixels."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.nn.classifier import dense_head
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.personalized_head import PersonalizedHead
from fedrepro.methods.seeds import Seeds
from tests.methods.conftest import Pixels

PROTOCOL = PersonalizedHead(epochs=20, batch_size=5, learning_rate=0.5)


def portion(n: int, seed: int) -> ImageSet:
    """Two classes, bright on the left and bright on the right."""
    stream = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 2
    images = torch.rand(n, 1, 2, 4, generator=stream) * 120
    images[labels == 0, :, :, :2] += 100
    images[labels == 1, :, :, 2:] += 100
    return ImageSet(images.to(torch.uint8), labels)


def subject(scale: float = 1.0) -> Subject:
    """Six clients with twelve images, the last two of them novel."""
    train, test = portion(72, 1), portion(60, 2)
    # The novel ones call the classes by opposite names: only heads of their own can serve them.
    for held, own in ((train, 12), (test, 10)):
        assert held.labels is not None
        held.labels[4 * own :] = 1 - held.labels[4 * own :]
    federation = Federation(
        train,
        test,
        torch.arange(72).split(12),
        torch.arange(60).split(10),
        torch.zeros(6, dtype=torch.int64),
        2,
        novel=2,
    )
    return Subject(
        network=Pixels(),
        dim=8,
        weights={"encoder.scale": torch.full((1, 1), scale), "projector.w": torch.ones(1, 3)},
        train=train,
        test=test,
        n_classes=2,
        seeds=Seeds(0),
        device=torch.device("cpu"),
        source=lambda: train,
        federation=federation,
    )


def test_every_client_learns_its_own_rule() -> None:
    outcome = PROTOCOL.measure(subject())
    assert outcome.metrics["accuracy"].read("final") > 0.95
    assert outcome.metrics["novel_accuracy"].read("final") > 0.95
    assert set(outcome.metrics) == {
        prefix + name
        for prefix in ("", "novel_")
        for name in ("accuracy", "accuracy_variance", "accuracy_sd")
    }


def test_heads_are_trained_as_torch_trains_them_one_by_one() -> None:
    held = subject()
    outcome = replace(PROTOCOL, epochs=3, learning_rate=0.1).measure(held)
    federation = held.federation
    assert federation is not None
    first = dense_head(8, (), 2).new(Seeds(0).generator("weights", "personalized head"))
    for client in range(6):
        x, y = federation.train.images.flatten(1) / 255, federation.train.labels
        assert y is not None
        own, head = federation.train_of[client], nn.Linear(8, 2)
        head.weight.data = first["head.0.weight"][0].clone()
        head.bias.data = first["head.0.bias"][0].clone()
        steps = torch.optim.SGD(head.parameters(), lr=0.1)
        stream = Seeds(0).generator("batches", 0, client)
        for _ in range(3):
            for batch in torch.randperm(12, generator=stream).split(5):
                steps.zero_grad()
                F.cross_entropy(head(x[own[batch]]), y[own[batch]]).backward()
                steps.step()
        unseen, labels = federation.test.images.flatten(1) / 255, federation.test.labels
        assert labels is not None
        tested = federation.test_of[client]
        hits = head(unseen[tested]).argmax(1) == labels[tested]
        found = outcome.arrays["client_accuracy"][0, client]
        assert found == pytest.approx(float(hits.double().mean()))


def test_an_encoder_that_gives_nothing_leaves_chance() -> None:
    outcome = PROTOCOL.measure(subject(scale=0.0))
    assert outcome.metrics["accuracy"].read("final") == pytest.approx(0.5)


def test_without_clients_there_is_nothing_to_personalise() -> None:
    with pytest.raises(ValueError, match="need clients"):
        PROTOCOL.measure(replace(subject(), federation=None))
