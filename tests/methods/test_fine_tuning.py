from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from fedrepro.methods.data.federation import ImageSet, to_float
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Task
from fedrepro.methods.federated.reference.untrained import Untrained
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.nn.classifier import dense_head
from fedrepro.methods.outcome import DivergedError
from fedrepro.methods.protocols.base import Protocol, Subject
from fedrepro.methods.protocols.federated_fine_tuning import (
    FederatedFineTuning,
    with_labelled_share,
)
from fedrepro.methods.protocols.fine_tuning import FineTuning, labelled_share
from fedrepro.methods.protocols.linear_probe import LinearProbe
from fedrepro.methods.protocols.personalized_head import PersonalizedHead
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from tests.methods.conftest import Pixels, dealt, in_torch_nn, make_task, subject_of, train_in_torch


def noisy(n: int, seed: int) -> ImageSet:
    """Four classes that a linear map of 9 pixels tells apart, most of the time."""
    stream = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 9, generator=stream)
    corner = x[:, [0, 2, 6, 8]] + 0.15 * torch.randn(n, 4, generator=stream)
    return ImageSet((x * 255).to(torch.uint8).view(n, 1, 3, 3), corner.argmax(dim=1))


@pytest.fixture
def subject() -> Subject:
    return subject_of(Pixels(), 9, 4, noisy(400, 1), noisy(400, 2))


def test_the_linear_probe_finds_what_logistic_regression_finds(subject: Subject) -> None:
    probe = LinearProbe(epochs=60, learning_rate=0.02, schedule="cosine")
    found = probe.measure(subject).metrics["accuracy"].read("final")
    train, test = subject.train, subject.held_out()
    reference = LogisticRegression(C=1e3, max_iter=2000)
    reference.fit(train.images.flatten(1).numpy() / 255, train.labels)
    expected = reference.score(test.images.flatten(1).numpy() / 255, test.labels)
    assert expected > 0.7
    assert found == pytest.approx(expected, abs=0.02)


def test_the_linear_probe_does_not_depend_on_the_scale_of_representations(subject: Subject) -> None:
    probe = LinearProbe(epochs=5)
    scaled = replace(subject, weights={"encoder.scale": torch.full((1, 1), 50.0)})
    one, other = (probe.measure(s).metrics["accuracy"].read("final") for s in (subject, scaled))
    assert one == pytest.approx(other, abs=0.006)

    # As they are, representations fifty times longer take another path.
    raw = replace(probe, standardised=False)
    one, other = (raw.measure(s).metrics["accuracy"].read("final") for s in (subject, scaled))
    assert one != pytest.approx(other, abs=0.006)


def test_rates_follow_their_schedules() -> None:
    steps = LinearProbe(epochs=10, learning_rate=1.0, schedule="steps", milestones=(3, 6))
    assert [round(steps.rate(epoch), 6) for epoch in (0, 2, 3, 6, 9)] == [1, 1, 0.1, 0.01, 0.01]
    cosine = LinearProbe(epochs=10, learning_rate=1.0, schedule="cosine")
    assert cosine.rate(0) == pytest.approx(1)
    assert cosine.rate(5) == pytest.approx(0.5)


@pytest.mark.parametrize("protocol", [LinearProbe(), FineTuning(), FederatedFineTuning()])
def test_labels_are_needed(subject: Subject, protocol: Protocol) -> None:
    task = make_task()
    blind = ImageSet(subject.train.images)
    federation = replace(task.federation, train=ImageSet(task.federation.train.images))
    with pytest.raises(ValueError, match="needs labels"):
        protocol.measure(replace(subject, train=blind, federation=federation))


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
def corner_subject() -> Subject:
    return subject_of(ENCODER.build(1, 6), 5, 3, portion(60, 1), portion(90, 2))


def test_training_equals_torch_nn_with_two_rates_and_steps(corner_subject: Subject) -> None:
    rates: dict[str, Any] = {"learning_rate": 0.02, "head_learning_rate": 0.2, "gamma": 0.1}
    steps_down: dict[str, Any] = {"schedule": "steps", "milestones": (2,), **rates}
    sgd: dict[str, Any] = {"batch_size": 8, "optimizer": "sgd", "sgd_momentum": 0.9}
    protocol = FineTuning(epochs=4, label_share=0.5, **sgd, **steps_down)
    kept = labelled_share(corner_subject.train, 0.5, Seeds(0))
    fresh = corner_subject.seeds.generator("weights", "fine-tuning")
    drawn = corner_subject.network.new(fresh)
    head = dense_head(5, (), 3).new(fresh)
    net = in_torch_nn({**drawn, **head, **corner_subject.weights})
    encoder, classifier = net[:-1], net[-1]
    trained = ((encoder, 0.02), (classifier, 0.2))
    groups = [{"params": part.parameters(), "lr": rate} for part, rate in trained]
    steps = torch.optim.SGD(groups, momentum=0.9)
    order = corner_subject.seeds.generator("fine-tuning", "order")

    def epochs() -> Iterator[int]:
        yield from range(2)
        for group in steps.param_groups:
            group["lr"] *= 0.1
        yield from range(2)

    train_in_torch(net, steps, to_float(kept.images), kept.labels, 8, epochs(), order)
    test = corner_subject.held_out()
    expected = (net(test.images / 255).argmax(1) == test.labels).double().mean()
    found = protocol.measure(corner_subject)
    assert found.metrics["accuracy"].read("final") == pytest.approx(float(expected), abs=1e-9)
    assert found.counts["labels"] == 30


def test_the_encoder_is_trained_too_and_the_given_weights_stay(corner_subject: Subject) -> None:
    before = {name: value.clone() for name, value in corner_subject.weights.items()}
    options = {"optimizer": "sgd", "epochs": 60, "batch_size": 16, "label_share": 1.0}
    tuned = FineTuning(**options, learning_rate=0.3)  # type: ignore[arg-type]
    frozen = FineTuning(**options, learning_rate=1e-9, head_learning_rate=0.3)  # type: ignore[arg-type]
    one, two = (
        p.measure(corner_subject).metrics["accuracy"].read("final") for p in (tuned, frozen)
    )
    assert one > two
    assert one > 0.9
    torch.testing.assert_close(corner_subject.weights, before, rtol=0, atol=0)


def test_a_rate_that_explodes_is_divergence(corner_subject: Subject) -> None:
    with pytest.raises(DivergedError):
        FineTuning(optimizer="sgd", learning_rate=1e30, epochs=5).measure(corner_subject)


OPTIONS = {"rounds": 3, "local_epochs": 2, "batch_size": 4}


def federated(task: Task, weights: State) -> Subject:
    train, test = task.federation.train, task.federation.test
    return subject_of(
        task.model.encoder, 5, 3, train, test, weights=weights, seeds=task.seeds,
        federation=task.federation,
    )  # fmt: skip


def untrained(task: Task) -> State:
    weights = loop.run(Untrained(rounds=1), task).encoder
    return weights


def test_clients_augment_where_the_protocol_is_asked_to() -> None:
    task = replace(make_task((12, 9, 12), (60, 60, 60)), augmentation=Augmentation(crop_padding=2))
    found = []
    for augments in (False, True):
        options = {**OPTIONS, "learning_rate": 0.05, "augments": augments}
        expected = loop.run(FedAvg(**options), task)  # type: ignore[arg-type]
        protocol = FederatedFineTuning(**options)  # type: ignore[arg-type]
        # The encoder is untrained: this is FedAvg.
        assert protocol.draws_views == augments
        subject = replace(federated(task, untrained(task)), augmentation=task.augmentation)
        found.append(protocol.measure(subject).arrays["client_accuracy"].tolist())
        assert found[-1][-1] == expected.arrays["client_accuracy"].tolist()[-1]
    assert found[0] != found[1]


def test_clients_learn_from_their_labelled_images_alone() -> None:
    task = make_task((30, 30))
    few = with_labelled_share(task.federation, 0.2, Seeds(0))
    labels = task.federation.train.labels
    hidden = labels.clone()
    known = torch.cat(few.train_of)
    hidden[~torch.isin(torch.arange(60), known)] = 0
    protocol = FederatedFineTuning(**OPTIONS, label_share=0.2)  # type: ignore[arg-type]
    accuracies = []
    for truth in (labels, hidden):
        train = replace(task.federation.train, labels=truth)
        subject = federated(task, untrained(task))
        # The same images keep their labels, whatever the others' labels are.
        federation = replace(task.federation, train=train, train_of=few.train_of)
        whole = replace(protocol, label_share=1.0)
        accuracies.append(
            whole.measure(replace(subject, federation=federation)).metrics["accuracy"].read("final")
        )
    assert accuracies[0] == accuracies[1]


PROTOCOL = PersonalizedHead(epochs=20, batch_size=5, learning_rate=0.5)


def head_portion(n: int, seed: int) -> ImageSet:
    """Two classes, bright on the left and bright on the right."""
    stream = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 2
    images = torch.rand(n, 1, 2, 4, generator=stream) * 120
    images[labels == 0, :, :, :2] += 100
    images[labels == 1, :, :, 2:] += 100
    return ImageSet(images.to(torch.uint8), labels)


def head_subject() -> Subject:
    """Six clients with twelve images, the last two of them novel."""
    train, test = head_portion(72, 1), head_portion(60, 2)
    # The novel ones call the classes by opposite names: only heads of their own can serve them.
    for held, own in ((train, 12), (test, 10)):
        held.labels[4 * own :] = 1 - held.labels[4 * own :]
    federation = dealt(train, test, 6, 2, novel=2)
    weights = {"encoder.scale": torch.ones(1, 1), "projector.w": torch.ones(1, 3)}
    return subject_of(Pixels(), 8, 2, train, test, weights=weights, federation=federation)


def test_every_client_learns_its_own_rule() -> None:
    outcome = PROTOCOL.measure(head_subject())
    assert outcome.metrics["accuracy"].read("final") > 0.95
    assert outcome.metrics["novel_accuracy"].read("final") > 0.95
    assert set(outcome.metrics) == {
        prefix + name
        for prefix in ("", "novel_")
        for name in ("accuracy", "accuracy_variance", "accuracy_sd")
    }


def test_heads_are_trained_as_torch_trains_them_one_by_one() -> None:
    held = head_subject()
    outcome = replace(PROTOCOL, epochs=3, learning_rate=0.1).measure(held)
    federation = held.federation
    first = dense_head(8, (), 2).new(Seeds(0).generator("weights", "personalized head"))
    for client, own in enumerate(federation.train_of):
        x, y = federation.train.images[own].flatten(1) / 255, federation.train.labels[own]
        head, stream = in_torch_nn(first), Seeds(0).generator("batches", 0, client)
        train_in_torch(head, torch.optim.SGD(head.parameters(), lr=0.1), x, y, 5, range(3), stream)
        unseen, labels = federation.test.images.flatten(1) / 255, federation.test.labels
        tested = federation.test_of[client]
        hits = head(unseen[tested]).argmax(1) == labels[tested]
        found = outcome.arrays["client_accuracy"][0, client]
        assert found == pytest.approx(float(hits.double().mean()))
