from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedrepro.methods.data.dealing import proportional
from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.data.partitions._sampled import Sampled
from fedrepro.methods.data.partitions.base import Partition
from fedrepro.methods.data.partitions.class_groups import ClassGroups
from fedrepro.methods.data.partitions.counted import Counted
from fedrepro.methods.data.partitions.data_split import DataSplit
from fedrepro.methods.data.partitions.dirichlet import Dirichlet
from fedrepro.methods.data.partitions.dirichlet_samples import DirichletSamples
from fedrepro.methods.data.partitions.iid import IID
from fedrepro.methods.data.partitions.quantity import Quantity
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.seeds import Seeds
from tests.methods.conftest import make_task


def portion(per_class: int, n_classes: int = 10, seed: int = 0) -> ImageSet:
    order = torch.randperm(per_class * n_classes, generator=torch.Generator().manual_seed(seed))
    labels = torch.arange(n_classes).repeat(per_class)[order]
    return ImageSet(torch.zeros(len(labels), 1, 1, 1, dtype=torch.uint8), labels)


STL_TRAIN, STL_TEST = portion(500), portion(800, seed=1)


def deal(partition: ClassGroups, trial: int = 0) -> Federation:
    return partition.deal(STL_TRAIN, STL_TEST, 10, Seeds(trial))


def uses(indices: tuple[Tensor, ...], n: int) -> Tensor:
    """How many clients hold each image, by a plain loop."""
    counts = torch.zeros(n, dtype=torch.int64)
    for index in indices:
        for image in set(index.tolist()):
            counts[image] += 1
    return counts


def test_every_client_has_two_classes_with_twenty_images_and_two_with_five() -> None:
    federation = deal(ClassGroups())
    groups = ClassGroups().groups
    for client, counts in enumerate(federation.class_counts().tolist()):
        mine = groups[int(federation.group[client])]
        assert sorted(counts[c] for c in mine) == [5, 5, 20, 20]
        assert sum(counts) == 50


def test_test_images_follow_the_clients_own_distribution() -> None:
    federation = deal(ClassGroups())
    labels = STL_TEST.labels
    tested = torch.stack([torch.bincount(labels[i], minlength=10) for i in federation.test_of])
    assert torch.equal(tested, federation.class_counts())


@pytest.mark.parametrize("count", [15, 30, 60, 90])
def test_clients_are_equally_divided_into_three_groups(count: int) -> None:
    federation = deal(ClassGroups(count=count))
    assert federation.group.bincount().tolist() == [count // 3] * 3
    assert torch.equal(federation.group, federation.group.sort().values)


def test_the_size_of_test_sets_does_not_change_the_training_images() -> None:
    small, large = deal(ClassGroups(test_size=10)), deal(ClassGroups(test_size=50))
    assert all(map(torch.equal, small.train_of, large.train_of))


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(3, 40),
    major=st.integers(1, 12),
    minor=st.integers(0, 12),
    per_class=st.integers(12, 60),
    test_size=st.integers(1, 24),
    trial=st.integers(0, 5),
)
def test_no_client_holds_an_image_twice_and_use_is_even(
    count: int, major: int, minor: int, per_class: int, test_size: int, trial: int
) -> None:
    minor = min(major, minor)
    options = ClassGroups(count=count, major=major, minor=minor, test_size=test_size)
    train, test = portion(per_class), portion(24)
    federation = options.deal(train, test, 10, Seeds(trial))
    for mine, tested in zip(federation.train_of, federation.test_of, strict=True):
        assert len(set(mine.tolist())) == len(mine) == 2 * (major + minor)
        assert len(set(tested.tolist())) == len(tested) == test_size
    for indices, source in ((federation.train_of, train), (federation.test_of, test)):
        held = uses(indices, len(source))
        for c in range(10):
            of_class = held[source.labels == c]
            assert of_class.max() - of_class.min() <= 1


def test_proportional_parts_by_hand() -> None:
    counts = {0: 5, 1: 20, 2: 20, 3: 5}
    assert proportional(counts, 50) == counts
    assert proportional(counts, 30) == {0: 3, 1: 12, 2: 12, 3: 3}
    # Shares of 6 are 0.6, 2.4, 2.4, 0.6: both left over go to the largest remainders.
    assert proportional(counts, 6) == {0: 1, 1: 2, 2: 2, 3: 1}
    # Shares of 25 are 2.5, 10, 10, 2.5: the remainders tie, and the first class gets the one left.
    assert proportional(counts, 25) == {0: 3, 1: 10, 2: 10, 3: 2}


PER_CLASS, CLASSES = 30, 10


def whole(per_class: int = PER_CLASS) -> ImageSet:
    labels = torch.arange(CLASSES * per_class) % CLASSES
    return ImageSet(torch.zeros(len(labels), 1, 1, 1, dtype=torch.uint8), labels)


def deal_whole(partition: Partition, trial: int = 0) -> Federation:
    return partition.deal(whole(), whole(4), CLASSES, Seeds(trial))


DIRICHLET = Dirichlet(8, alpha=0.5), Dirichlet(30, alpha=0.01)
PARTITIONS = [IID(7), DataSplit(5), DataSplit(3), DataSplit(20), *DIRICHLET]


@pytest.mark.parametrize("partition", PARTITIONS, ids=repr)
def test_each_image_has_one_owner_and_all_are_tested_on_everything(partition: Partition) -> None:
    federation = deal_whole(partition)
    assert federation.n_clients == partition.count
    assert torch.cat(federation.train_of).sort().values.equal(torch.arange(PER_CLASS * CLASSES))
    assert len({id(index) for index in federation.test_of}) == 1
    assert federation.test_of[0].equal(torch.arange(4 * CLASSES))


@pytest.mark.parametrize("partition", PARTITIONS, ids=repr)
def test_trials_differ_and_the_same_trial_repeats(partition: Partition) -> None:
    first, again, other = (deal_whole(partition, trial).train_of for trial in (0, 0, 1))
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))
    assert any(not a.equal(b) for a, b in zip(first, other, strict=True))


def test_iid_sizes_differ_by_at_most_one() -> None:
    sizes = deal_whole(IID(7)).sizes()
    assert int(sizes.max() - sizes.min()) <= 1


def test_data_split_gives_each_client_classes_of_its_own() -> None:
    counts = deal_whole(DataSplit(5)).class_counts()
    assert (counts > 0).sum(dim=1).tolist() == [2] * 5
    assert (counts > 0).sum(dim=0).tolist() == [1] * CLASSES


@given(st.integers(1, 40))
def test_data_split_shares_are_even_for_any_number_of_clients(count: int) -> None:
    federation = deal_whole(DataSplit(count))
    even = PER_CLASS * CLASSES / count
    assert all(abs(int(size) - even) <= 2 for size in federation.sizes())
    assert int((federation.class_counts() > 0).sum()) <= CLASSES + count - 1


def test_dirichlet_shares_have_the_distributions_mean_and_variance() -> None:
    """A share has mean 1/K and variance (K - 1) / (K^2 (K alpha + 1))."""
    k, alpha = 4, 1.5
    shares = torch.cat(
        [deal_whole(Dirichlet(k, alpha=alpha, smallest=1), t).class_counts() for t in range(150)]
    )
    shares = shares.double() / PER_CLASS
    assert float(shares.mean()) == pytest.approx(1 / k)
    expected = (k - 1) / (k**2 * (k * alpha + 1))
    # Rounding to whole images adds about 1/12 of a squared image.
    assert float(shares.var()) == pytest.approx(expected + 1 / 12 / PER_CLASS**2, rel=0.1)


def test_images_are_counted_out_by_class() -> None:
    counts = ((28, 2), (2, 28), (0, 0, 30))
    federation = deal_whole(Counted(3, counts=counts))
    found = federation.class_counts().tolist()
    assert [row[:3] for row in found] == [[28, 2, 0], [2, 28, 0], [0, 0, 30]]
    assert federation.n_shared_images() == 0
    assert all(len(index) == len(federation.test) for index in federation.test_of)
    other = deal_whole(Counted(3, counts=counts), trial=1)
    assert not all(map(torch.equal, federation.train_of, other.train_of))


QUANTITY = Quantity(count=20, novel=10, samples=30, test_size=25)
BOTH: list[Sampled] = [QUANTITY, DirichletSamples(count=20, novel=10, samples=30, test_size=25)]


def deal_samples(partition: Sampled, train: int = 60, test: int = 50, trial: int = 0) -> Federation:
    return partition.deal(portion(train), portion(test, seed=1), 10, Seeds(trial))


def counts(labels: Tensor | None, index: Tensor) -> Tensor:
    return torch.bincount(labels[index], minlength=10)


@pytest.mark.parametrize("partition", BOTH, ids=["quantity", "dirichlet"])
def test_every_client_has_the_same_number_of_different_images(partition: Sampled) -> None:
    federation = deal_samples(partition)
    assert federation.n_clients == 30
    assert federation.n_training == 20
    for train, test in zip(federation.train_of, federation.test_of, strict=True):
        assert len(set(train.tolist())) == 30
        assert len(set(test.tolist())) == 25


@pytest.mark.parametrize("partition", BOTH, ids=["quantity", "dirichlet"])
def test_test_images_follow_the_clients_training_images(partition: Sampled) -> None:
    federation = deal_samples(partition)
    for train, test in zip(federation.train_of, federation.test_of, strict=True):
        wanted = counts(federation.train.labels, train) * 25 / 30
        assert (counts(federation.test.labels, test) - wanted).abs().max() < 1


@pytest.mark.parametrize("partition", BOTH, ids=["quantity", "dirichlet"])
def test_novel_clients_take_nothing_from_those_that_train(partition: Sampled) -> None:
    fewer = type(partition)(count=20, novel=0, samples=30, test_size=25)
    with_novel, without = deal_samples(partition), deal_samples(fewer)
    assert all(map(torch.equal, with_novel.train_of[:20], without.train_of))
    assert all(map(torch.equal, with_novel.test_of[:20], without.test_of))


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_client_has_s_classes_with_equally_many_images(classes: int) -> None:
    federation = deal_samples(replace(QUANTITY, classes=classes))
    for row in federation.class_counts().tolist():
        assert sorted(row)[-classes:] == [30 // classes] * classes
        assert sum(row) == 30


def test_two_classes_for_each_client_of_cifar_10_use_every_image_once() -> None:
    """100 clients, 2 classes, 500 images: 20 clients a class with 250 of its 5,000 images."""
    partition = Quantity(count=100, novel=0, samples=500, test_size=100, classes=2)
    federation = deal_samples(partition, train=5000, test=1000)
    held = torch.cat(federation.train_of).sort().values
    assert torch.equal(held, torch.arange(50_000))
    assert federation.n_shared_images() == 0


def test_classes_are_held_equally_often_and_in_different_pairs() -> None:
    federation = deal_samples(Quantity(count=20, novel=0, samples=30, test_size=25, classes=2))
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


@pytest.mark.parametrize(
    ("partition", "train", "test", "says"),
    [
        (ClassGroups(), portion(19), STL_TEST, r"class \d has 19 training images, but one client"),
        (ClassGroups(), STL_TRAIN, portion(19), r"class \d has 19 test images, but one client"),
        (ClassGroups(), portion(500, 5), STL_TEST, "class 9 does not exist, the data have 5"),
        (ClassGroups(), ImageSet(STL_TRAIN.images), STL_TEST, "the training images have none"),
        (IID(301), whole(), whole(4), "hold no image"),
        (Dirichlet(200), whole(), whole(4), "cannot give 200 clients 2 each"),
        (Counted(1, counts=((1,) * 11,)), whole(), whole(4), "the data have 10"),
        (Counted(1, counts=((31,),)), whole(), whole(4), "30 training images"),
        (Quantity(classes=11), portion(60), portion(50), "the data have 10 classes"),
        (Quantity(classes=2, samples=500), portion(60), portion(50), "one client needs 250"),
    ],
)
def test_what_the_data_do_not_have_is_refused(
    partition: Partition, train: ImageSet, test: ImageSet, says: str
) -> None:
    n_classes = 10 if train.labels is None else int(train.labels.max()) + 1
    with pytest.raises(ValueError, match=says):
        partition.deal(train, test, n_classes, Seeds(0))


def test_novel_clients_never_take_part() -> None:
    task = make_task(sizes=(4,) * 6)
    federation = task.federation
    object.__setattr__(federation, "novel", 2)
    everyone = FedAvg(participation=1.0).participants(task, 0)
    assert everyone.tolist() == [0, 1, 2, 3]
    drawn = {int(c) for t in range(40) for c in FedAvg(participation=0.5).participants(task, t)}
    assert drawn == {0, 1, 2, 3}
