"""Calibre's two splits: quantity-based and Dirichlet, with clients that never train."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.data.partitions._sampled import Sampled
from fedrepro.methods.data.partitions.dirichlet_samples import DirichletSamples
from fedrepro.methods.data.partitions.quantity import Quantity
from fedrepro.methods.federated.base import Task
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.seeds import Seeds

BOTH: list[Sampled] = [
    Quantity(count=20, novel=10, samples=30, test_size=25),
    DirichletSamples(count=20, novel=10, samples=30, test_size=25),
]


def portion(per_class: int, n_classes: int = 10, seed: int = 0) -> ImageSet:
    order = torch.randperm(per_class * n_classes, generator=torch.Generator().manual_seed(seed))
    labels = torch.arange(n_classes).repeat(per_class)[order]
    return ImageSet(torch.zeros(len(labels), 1, 1, 1, dtype=torch.uint8), labels)


def deal(partition: Sampled, train: int = 60, test: int = 50, trial: int = 0) -> Federation:
    return partition.deal(portion(train), portion(test, seed=1), 10, Seeds(trial))


def counts(labels: Tensor | None, index: Tensor) -> Tensor:
    assert labels is not None
    return torch.bincount(labels[index], minlength=10)


@pytest.mark.parametrize("partition", BOTH, ids=["quantity", "dirichlet"])
def test_every_client_has_the_same_number_of_different_images(partition: Sampled) -> None:
    federation = deal(partition)
    assert federation.n_clients == 30
    assert federation.n_training == 20
    for train, test in zip(federation.train_of, federation.test_of, strict=True):
        assert len(set(train.tolist())) == 30
        assert len(set(test.tolist())) == 25


@pytest.mark.parametrize("partition", BOTH, ids=["quantity", "dirichlet"])
def test_test_images_follow_the_clients_training_images(partition: Sampled) -> None:
    federation = deal(partition)
    for train, test in zip(federation.train_of, federation.test_of, strict=True):
        wanted = counts(federation.train.labels, train) * 25 / 30
        assert (counts(federation.test.labels, test) - wanted).abs().max() < 1


@pytest.mark.parametrize("partition", BOTH, ids=["quantity", "dirichlet"])
def test_a_trial_is_dealt_again_exactly_and_another_differently(partition: Sampled) -> None:
    first, again, other = deal(partition), deal(partition), deal(partition, trial=1)
    assert all(map(torch.equal, first.train_of, again.train_of))
    assert all(map(torch.equal, first.test_of, again.test_of))
    assert not all(map(torch.equal, first.train_of, other.train_of))


@pytest.mark.parametrize("partition", BOTH, ids=["quantity", "dirichlet"])
def test_novel_clients_take_nothing_from_those_that_train(partition: Sampled) -> None:
    """Whoever trains holds the same images whether or not there are novel clients."""
    fewer = type(partition)(count=20, novel=0, samples=30, test_size=25)
    with_novel, without = deal(partition), deal(fewer)
    assert all(map(torch.equal, with_novel.train_of[:20], without.train_of))
    assert all(map(torch.equal, with_novel.test_of[:20], without.test_of))


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_client_has_s_classes_with_equally_many_images(classes: int) -> None:
    federation = deal(Quantity(count=20, novel=10, samples=30, test_size=25, classes=classes))
    for row in federation.class_counts().tolist():
        assert sorted(row)[-classes:] == [30 // classes] * classes
        assert sum(row) == 30


def test_two_classes_for_each_client_of_cifar_10_use_every_image_once() -> None:
    """100 clients, 2 classes, 500 images: 20 clients a class with 250 of its 5,000 images."""
    partition = Quantity(count=100, novel=0, samples=500, test_size=100, classes=2)
    federation = deal(partition, train=5000, test=1000)
    held = torch.cat(federation.train_of).sort().values
    assert torch.equal(held, torch.arange(50_000))
    assert federation.n_shared_images() == 0


def test_classes_are_held_equally_often_and_in_different_pairs() -> None:
    federation = deal(Quantity(count=20, novel=0, samples=30, test_size=25, classes=2))
    held = federation.class_counts() > 0
    assert held.sum(dim=0).tolist() == [4] * 10
    assert len({tuple(row) for row in held.tolist()}) > 10


def test_dirichlet_shares_have_the_spread_of_their_distribution() -> None:
    """Over k classes a share has mean 1/k and variance (k - 1) / k² / (k a + 1)."""
    partition = DirichletSamples(count=3000, novel=0, samples=1000, alpha=0.3)
    wanted = partition.wanted(10, Seeds(0))
    share = np.array([[counts.get(c, 0) for c in range(10)] for counts in wanted]) / 1000
    np.testing.assert_allclose(share.mean(axis=0), 0.1, atol=0.02)
    assert share.var() == pytest.approx(9 / 100 / 4, rel=0.05)


def test_a_smaller_concentration_gives_a_client_fewer_classes() -> None:
    held = [
        sum(
            n > 0
            for counts in DirichletSamples(alpha=a).wanted(10, Seeds(0))
            for n in counts.values()
        )
        for a in (0.05, 0.3, 10.0)
    ]
    assert held[0] < held[1] < held[2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quantity(classes=0), "classes = 0"),
        (lambda: Quantity(classes=9, samples=8), "classes = 9"),
        (lambda: DirichletSamples(alpha=0.0), "alpha = 0.0"),
        (lambda: Quantity(novel=-1), "novel = -1"),
        (lambda: Quantity(samples=0), "samples = 0"),
    ],
)
def test_impossible_options_are_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def test_more_classes_or_images_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="the data have 10 classes"):
        deal(Quantity(classes=11))
    with pytest.raises(ValueError, match="one client needs 250"):
        deal(Quantity(classes=2, samples=500))


def test_novel_clients_never_take_part(make_task: object) -> None:
    task: Task = make_task(sizes=(4,) * 6)  # type: ignore[operator]
    federation = task.federation
    object.__setattr__(federation, "novel", 2)
    everyone = FedAvg(participation=1.0).participants(task, 0)
    assert everyone.tolist() == [0, 1, 2, 3]
    drawn = {int(c) for t in range(40) for c in FedAvg(participation=0.5).participants(task, t)}
    assert drawn == {0, 1, 2, 3}
