from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Task
from fedrepro.methods.federated.reference.untrained import Untrained
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.federated_fine_tuning import (
    FederatedFineTuning,
    with_labelled_share,
)
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from tests.methods.conftest import MakeTask

OPTIONS = {"rounds": 3, "local_epochs": 2, "batch_size": 4}


def subject_of(task: Task, weights: State) -> Subject:
    def nothing() -> ImageSet:
        raise AssertionError

    return Subject(
        network=task.model.encoder,
        dim=5,
        weights=weights,
        train=task.federation.train,
        test=task.federation.test,
        n_classes=3,
        seeds=task.seeds,
        device=task.device,
        source=nothing,
        federation=task.federation,
    )


def untrained(task: Task) -> State:
    weights = loop.run(Untrained(rounds=1), task).encoder
    assert weights is not None
    return weights


def test_from_an_untrained_encoder_it_is_fedavg(make_task: MakeTask) -> None:
    task = make_task((12, 9, 12))
    expected = loop.run(FedAvg(**OPTIONS), task)  # type: ignore[arg-type]
    protocol = FederatedFineTuning(**OPTIONS)  # type: ignore[arg-type]
    found = protocol.measure(subject_of(task, untrained(task)))
    assert found.metrics["accuracy"].read("final") == expected.metrics["accuracy"].read("final")
    assert found.metrics["accuracy"].rounds == (3,)


def test_clients_augment_where_the_protocol_is_asked_to(make_task: MakeTask) -> None:
    task = replace(make_task((12, 9, 12), (60, 60, 60)), augmentation=Augmentation(crop_padding=2))
    found = []
    for augments in (False, True):
        options = {**OPTIONS, "learning_rate": 0.05, "augments": augments}
        expected = loop.run(FedAvg(**options), task)  # type: ignore[arg-type]
        protocol = FederatedFineTuning(**options)  # type: ignore[arg-type]
        assert protocol.draws_views == augments
        subject = replace(subject_of(task, untrained(task)), augmentation=task.augmentation)
        found.append(protocol.measure(subject).arrays["client_accuracy"].tolist())
        assert found[-1][-1] == expected.arrays["client_accuracy"].tolist()[-1]
    assert found[0] != found[1]


def test_it_starts_from_the_trained_encoder(make_task: MakeTask) -> None:
    task = make_task((12, 9, 12), test_sizes=(60, 60, 60))
    protocol = FederatedFineTuning(**OPTIONS, learning_rate=0.05)  # type: ignore[arg-type]
    start = untrained(task)
    other = {name: value + 0.3 for name, value in start.items()}
    one, two = (protocol.measure(subject_of(task, weights)) for weights in (start, other))
    assert one.arrays["client_accuracy"].tolist() != two.arrays["client_accuracy"].tolist()


def test_clients_learn_from_their_labelled_images_alone(make_task: MakeTask) -> None:
    task = make_task((30, 30))
    few = with_labelled_share(task.federation, 0.2, Seeds(0))
    labels = task.federation.train.labels
    assert labels is not None
    for own, kept in zip(task.federation.train_of, few.train_of, strict=True):
        assert set(kept.tolist()) < set(own.tolist())
        for c in range(3):
            assert int((labels[kept] == c).sum()) == max(
                1, round(0.2 * int((labels[own] == c).sum()))
            )
    hidden = labels.clone()
    known = torch.cat(few.train_of)
    hidden[~torch.isin(torch.arange(60), known)] = 0
    protocol = FederatedFineTuning(**OPTIONS, label_share=0.2)  # type: ignore[arg-type]
    accuracies = []
    for truth in (labels, hidden):
        train = replace(task.federation.train, labels=truth)
        subject = subject_of(task, untrained(task))
        # The same images keep their labels, whatever the others' labels are.
        federation = replace(task.federation, train=train, train_of=few.train_of)
        whole = replace(protocol, label_share=1.0)
        accuracies.append(
            whole.measure(replace(subject, federation=federation)).metrics["accuracy"].read("final")
        )
    assert accuracies[0] == accuracies[1]


def test_labels_are_needed(make_task: MakeTask) -> None:
    task = make_task()
    blind = replace(task.federation, train=ImageSet(task.federation.train.images))
    with pytest.raises(ValueError, match="needs labels"):
        with_labelled_share(blind, 0.5, Seeds(0))


def test_nothing_is_sent_for_an_untrained_encoder(make_task: MakeTask) -> None:
    outcome = loop.run(Untrained(rounds=2), make_task())
    assert outcome.counts["uploaded_bytes"] == outcome.counts["downloaded_bytes"] == 0
    assert set(outcome.metrics) == {"representation_std"}
