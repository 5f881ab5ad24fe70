"""The partitions that deal a whole training set: iid, data-split, dirichlet."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.data.partitions.base import Partition
from fedrepro.methods.data.partitions.counted import Counted
from fedrepro.methods.data.partitions.data_split import DataSplit
from fedrepro.methods.data.partitions.dirichlet import Dirichlet
from fedrepro.methods.data.partitions.iid import IID
from fedrepro.methods.seeds import Seeds

PER_CLASS, CLASSES = 30, 10


def portion(per_class: int = PER_CLASS) -> ImageSet:
    labels = torch.arange(CLASSES * per_class) % CLASSES
    return ImageSet(torch.zeros(len(labels), 1, 1, 1, dtype=torch.uint8), labels)


def deal(partition: Partition, trial: int = 0) -> Federation:
    return partition.deal(portion(), portion(4), CLASSES, Seeds(trial))


PARTITIONS = [
    IID(7),
    DataSplit(5),
    DataSplit(3),
    DataSplit(20),
    Dirichlet(8, alpha=0.5),
    Dirichlet(30, alpha=0.01),
]


@pytest.mark.parametrize("partition", PARTITIONS, ids=repr)
def test_every_image_has_one_owner_and_everyone_is_tested_on_everything(
    partition: Partition,
) -> None:
    federation = deal(partition)
    assert federation.n_clients == partition.count
    assert torch.cat(federation.train_of).sort().values.equal(torch.arange(PER_CLASS * CLASSES))
    assert len({id(index) for index in federation.test_of}) == 1
    assert federation.test_of[0].equal(torch.arange(4 * CLASSES))


@pytest.mark.parametrize("partition", PARTITIONS, ids=repr)
def test_trials_differ_and_the_same_trial_repeats(partition: Partition) -> None:
    first, again, other = (deal(partition, trial).train_of for trial in (0, 0, 1))
    assert all(a.equal(b) for a, b in zip(first, again, strict=True))
    assert any(not a.equal(b) for a, b in zip(first, other, strict=True))


def test_iid_sizes_differ_by_at_most_one() -> None:
    sizes = deal(IID(7)).sizes()
    assert int(sizes.max() - sizes.min()) <= 1


def test_data_split_gives_each_client_classes_of_its_own() -> None:
    counts = deal(DataSplit(5)).class_counts()
    assert (counts > 0).sum(dim=1).tolist() == [2] * 5
    assert (counts > 0).sum(dim=0).tolist() == [1] * CLASSES


@given(st.integers(1, 40))
def test_data_split_shares_are_even_for_any_number_of_clients(count: int) -> None:
    federation = deal(DataSplit(count))
    even = PER_CLASS * CLASSES / count
    assert all(abs(int(size) - even) <= 2 for size in federation.sizes())
    assert int((federation.class_counts() > 0).sum()) <= CLASSES + count - 1


def test_dirichlet_is_even_for_large_and_skewed_for_small_alpha() -> None:
    even, skewed = (deal(Dirichlet(5, alpha=a)).class_counts().double() for a in (200.0, 0.05))
    assert float(even.std()) < 3
    largest = (skewed.max(dim=0).values / skewed.sum(dim=0)).mean()
    assert float(largest) > 0.8


def test_dirichlet_shares_have_the_distributions_mean_and_variance() -> None:
    """A share has mean 1/K and variance (K - 1) / (K^2 (K alpha + 1))."""
    k, alpha = 4, 1.5
    shares = torch.cat(
        [deal(Dirichlet(k, alpha=alpha, smallest=1), t).class_counts() for t in range(150)]
    )
    shares = shares.double() / PER_CLASS
    assert float(shares.mean()) == pytest.approx(1 / k)
    expected = (k - 1) / (k**2 * (k * alpha + 1))
    # Rounding to whole images adds about 1/12 of a squared image.
    assert float(shares.var()) == pytest.approx(expected + 1 / 12 / PER_CLASS**2, rel=0.1)


def test_nobody_is_left_without_images() -> None:
    assert int(deal(Dirichlet(60, alpha=0.01, smallest=3)).sizes().min()) >= 3


@pytest.mark.parametrize(
    ("partition", "says"),
    [(IID(301), "hold no image"), (Dirichlet(200), "cannot give 200 clients 2 each")],
)
def test_too_many_clients_are_refused(partition: Partition, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        deal(partition)


def test_options_that_make_no_split_are_refused() -> None:
    with pytest.raises(ValueError, match="need alpha > 0"):
        Dirichlet(5, alpha=0.0)


def test_images_are_counted_out_by_class() -> None:
    counts = ((28, 2), (2, 28), (0, 0, 30))
    federation = deal(Counted(3, counts=counts))
    found = federation.class_counts().tolist()
    assert [row[:3] for row in found] == [[28, 2, 0], [2, 28, 0], [0, 0, 30]]
    assert federation.n_shared_images() == 0
    assert all(len(index) == len(federation.test) for index in federation.test_of)
    again, other = deal(Counted(3, counts=counts)), deal(Counted(3, counts=counts), trial=1)
    assert all(map(torch.equal, federation.train_of, again.train_of))
    assert not all(map(torch.equal, federation.train_of, other.train_of))


@pytest.mark.parametrize(
    ("count", "counts"), [(1, ((1,), (1,))), (2, ((1,), (0, 0))), (1, ((3, -1),)), (1, ((),))]
)
def test_counts_that_describe_no_clients_are_refused(
    count: int, counts: tuple[tuple[int, ...], ...]
) -> None:
    with pytest.raises(ValueError, match="counts"):
        Counted(count, counts=counts)


def test_more_classes_or_images_than_there_are_cannot_be_counted_out() -> None:
    with pytest.raises(ValueError, match="the data have 10"):
        deal(Counted(1, counts=((1,) * 11,)))
    with pytest.raises(ValueError, match="30 training images"):
        deal(Counted(1, counts=((31,),)))
