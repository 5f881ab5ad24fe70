"""Clustering and silhouettes of an encoder whose output is known: the image's pixels."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fedrepro.benchmark.training.stages.measurement import measure
from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.metrics.cluster_agreement import agreement, silhouette
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.clustering import Clustering
from fedrepro.methods.protocols.silhouette import Silhouette
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, repeat
from tests.methods.conftest import Pixels


def corners(n: int, spread: float) -> ImageSet:
    """Three classes: one of three pixels is bright."""
    labels = torch.arange(n) % 3
    noise = spread * torch.rand(n, 4, generator=torch.Generator().manual_seed(1))
    bright = (torch.eye(4)[labels] * (1 - spread) + noise) * 255
    return ImageSet(bright.to(torch.uint8).view(n, 1, 2, 2), labels)


@pytest.fixture
def subject() -> Subject:
    return Subject(
        network=Pixels(),
        dim=4,
        weights=Pixels().new(torch.Generator()),
        train=corners(6, 0.2),
        test=corners(60, 0.2),
        n_classes=3,
        seeds=Seeds(0),
        device=torch.device("cpu"),
        source=lambda: corners(6, 0.2),
    )


def head_that_sees(order: list[int]) -> State:
    """A cluster head that calls the class of bright pixel k cluster `order[k]`."""
    second = torch.zeros(1, 3, 4)
    for pixel, cluster in enumerate(order):
        second[0, cluster, pixel] = 9.0
    return {
        "cluster_head.0.weight": torch.eye(4)[None],
        "cluster_head.0.bias": torch.zeros(1, 4),
        "cluster_head.1.weight": second,
        "cluster_head.1.bias": torch.zeros(1, 3),
    }


def test_the_models_own_clusters_are_measured(subject: Subject) -> None:
    sees = replace(subject, weights={**subject.weights, **head_that_sees([2, 0, 1])})
    found = Clustering().measure(sees).metrics
    assert {name: curve.read("final") for name, curve in found.items()} == {
        "clustering_accuracy": 1.0,
        "nmi": pytest.approx(1.0),
        "ari": 1.0,
        "occupied_clusters": 3.0,
    }
    # A head that calls two classes by one name.
    merges = replace(subject, weights={**subject.weights, **head_that_sees([0, 0, 1])})
    found = Clustering().measure(merges).metrics
    assert found["clustering_accuracy"].read("final") == pytest.approx(2 / 3)
    assert found["occupied_clusters"].read("final") == 2.0


def test_centres_assign_in_the_projectors_output(subject: Subject) -> None:
    weights = {
        **subject.weights,
        "projector.0.weight": torch.eye(4)[None, :3],
        "projector.0.bias": torch.zeros(1, 3),
        "centres.mu": torch.eye(3)[None],
    }
    found = Clustering().measure(replace(subject, weights=weights)).metrics
    assert found["clustering_accuracy"].read("final") == 1.0


def test_k_means_finds_clear_classes_and_is_the_trials_own(subject: Subject) -> None:
    protocol = Clustering(assignment="kmeans")
    assert protocol.measure(subject).metrics["nmi"].read("final") == pytest.approx(1.0)
    vague = replace(subject, test=corners(60, 0.9))
    once, again = (protocol.measure(vague).metrics["ari"].read("final") for _ in range(2))
    assert once == again < 1.0


def test_a_model_without_clusters_is_refused(subject: Subject) -> None:
    with pytest.raises(ValueError, match="neither a cluster head nor centres"):
        Clustering().measure(subject)


def test_models_of_clients_that_trained_alone_are_measured_one_by_one(subject: Subject) -> None:
    heads = [head_that_sees(order) for order in ([0, 1, 2], [0, 0, 1])]
    weights = {name: torch.cat([head[name] for head in heads]) for name in heads[0]}
    stacked = {**repeat(subject.weights, 2), **weights}
    found = measure(Clustering(), replace(subject, weights=stacked))
    assert found.metrics["clustering_accuracy"].read("final") == pytest.approx(5 / 6)
    assert found.arrays["model_occupied_clusters"].tolist() == [3.0, 2.0]


@pytest.mark.parametrize("protocol", [Clustering(), Silhouette()])
def test_images_without_labels_are_refused(
    subject: Subject, protocol: Clustering | Silhouette
) -> None:
    bare = replace(subject, test=ImageSet(subject.held_out().images))
    with pytest.raises(ValueError, match=r"needs? labels"):
        protocol.measure(bare)


def test_the_silhouette_is_that_of_the_classes_in_the_encoders_output(subject: Subject) -> None:
    test = subject.held_out()
    expected = silhouette(test.images.flatten(1).float() / 255, test.labels)
    found = Silhouette().measure(subject).metrics["silhouette"].read("final")
    assert found == pytest.approx(expected)
    assert agreement(test.labels, test.labels)["ari"] == 1.0
    assert found > 0.5
