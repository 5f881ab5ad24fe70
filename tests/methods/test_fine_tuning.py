"""Fine-tuning of a small convolutional encoder, against the same training in torch.nn."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.nn.classifier import dense_head
from fedrepro.methods.outcome import DivergedError
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.fine_tuning import FineTuning, few_labels
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State

ENCODER = CNN(widths=(3, 4), dim=5, padding=1)


def portion(n: int, seed: int) -> ImageSet:
    """Three classes that are bright in one corner each."""
    stream = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 120, (n, 1, 6, 6), generator=stream)
    labels = torch.arange(n) % 3
    for image, label in zip(images, labels.tolist(), strict=True):
        image[0, 3 * (label // 2) :, 3 * (label % 2) :][:3, :3] += 100
    return ImageSet(images.to(torch.uint8), labels)


@pytest.fixture
def subject() -> Subject:
    network = ENCODER.build(1, 6)
    return Subject(
        network=network,
        dim=5,
        weights=network.new(torch.Generator().manual_seed(1)),
        train=portion(60, 1),
        test=portion(90, 2),
        n_classes=3,
        seeds=Seeds(0),
        device=torch.device("cpu"),
        source=lambda: portion(3, 3),
    )


def in_torch_nn(state: State) -> nn.Sequential:
    """The encoder and head of `state`, one layer after the other."""
    layers: list[nn.Module] = []
    for i, (inputs, outputs) in enumerate([(1, 3), (3, 4)]):
        conv = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1)
        conv.weight.data = state[f"encoder.conv{i}.weight"][0].clone()
        conv.bias.data = state[f"encoder.conv{i}.bias"][0].clone()  # type: ignore[union-attr]
        layers += [conv, nn.ReLU()]
    layers.append(nn.Flatten())
    for name in ("encoder.dense", "head.0"):
        weight = state[f"{name}.weight"][0].clone()
        dense = nn.Linear(weight.shape[1], weight.shape[0])
        dense.weight.data, dense.bias.data = weight, state[f"{name}.bias"][0].clone()
        layers += [dense, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def test_training_equals_torch_nn_with_two_rates_and_steps(subject: Subject) -> None:
    protocol = FineTuning(
        epochs=4,
        batch_size=8,
        optimizer="sgd",
        sgd_momentum=0.9,
        learning_rate=0.02,
        head_learning_rate=0.2,
        schedule="steps",
        milestones=(2,),
        gamma=0.1,
        label_share=0.5,
    )
    kept = few_labels(subject.train, 0.5, Seeds(0))
    assert kept.labels is not None
    fresh = subject.seeds.generator("weights", "fine-tuning")
    drawn = subject.network.new(fresh)
    head = dense_head(5, (), 3).new(fresh)
    net = in_torch_nn({**drawn, **head, **subject.weights})
    encoder, classifier = net[:-1], net[-1]
    steps = torch.optim.SGD(
        [
            {"params": encoder.parameters(), "lr": 0.02},
            {"params": classifier.parameters(), "lr": 0.2},
        ],
        momentum=0.9,
    )
    order = subject.seeds.generator("fine-tuning", "order")
    for epoch in range(4):
        if epoch == 2:
            for group in steps.param_groups:
                group["lr"] *= 0.1
        for batch in torch.randperm(30, generator=order).split(8):
            loss = nn.functional.cross_entropy(net(kept.images[batch] / 255), kept.labels[batch])
            steps.zero_grad()
            loss.backward()
            steps.step()
    test = subject.held_out()
    expected = (net(test.images / 255).argmax(1) == test.labels).double().mean()
    found = protocol.measure(subject)
    assert found.metrics["accuracy"].read("final") == pytest.approx(float(expected), abs=1e-9)
    assert found.counts["labels"] == 30


def test_the_encoder_is_trained_too_and_the_given_weights_stay(subject: Subject) -> None:
    before = {name: value.clone() for name, value in subject.weights.items()}
    options = {"optimizer": "sgd", "epochs": 60, "batch_size": 16, "label_share": 1.0}
    tuned = FineTuning(**options, learning_rate=0.3)  # type: ignore[arg-type]
    frozen = FineTuning(**options, learning_rate=1e-9, head_learning_rate=0.3)  # type: ignore[arg-type]
    one, two = (p.measure(subject).metrics["accuracy"].read("final") for p in (tuned, frozen))
    assert one > two
    assert one > 0.9
    for name, value in before.items():
        assert torch.equal(subject.weights[name], value)


def test_every_class_keeps_its_share(subject: Subject) -> None:
    kept = few_labels(subject.train, 0.1, Seeds(3))
    assert kept.labels is not None
    assert torch.bincount(kept.labels).tolist() == [2, 2, 2]
    again = few_labels(subject.train, 0.1, Seeds(3))
    assert torch.equal(kept.images, again.images)


def test_a_rate_that_explodes_is_divergence(subject: Subject) -> None:
    with pytest.raises(DivergedError):
        FineTuning(optimizer="sgd", learning_rate=1e30, epochs=5).measure(subject)


def test_labels_are_needed(subject: Subject) -> None:
    with pytest.raises(ValueError, match="needs labels"):
        FineTuning().measure(replace(subject, train=ImageSet(subject.train.images)))
