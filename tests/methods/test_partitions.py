from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.data.partitions._dealing import proportional
from fedrepro.methods.data.partitions.class_groups import ClassGroups
from fedrepro.methods.seeds import Seeds


def portion(per_class: int, n_classes: int = 10, seed: int = 0) -> ImageSet:
    """Tiny images whose labels come in no particular order."""
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
    assert labels is not None
    tested = torch.stack([torch.bincount(labels[i], minlength=10) for i in federation.test_of])
    assert torch.equal(tested, federation.class_counts())


@pytest.mark.parametrize("count", [15, 30, 60, 90])
def test_clients_are_equally_divided_into_three_groups(count: int) -> None:
    federation = deal(ClassGroups(count=count))
    assert federation.group.bincount().tolist() == [count // 3] * 3
    assert torch.equal(federation.group, federation.group.sort().values)


def test_groups_that_do_not_divide_the_clients_differ_by_one() -> None:
    assert deal(ClassGroups(count=11)).group.bincount().tolist() == [4, 4, 3]


def test_the_large_classes_differ_between_clients_of_a_group() -> None:
    counts = deal(ClassGroups()).class_counts()[:20, :4]
    assert len({tuple(row) for row in counts.tolist()}) > 1


@pytest.mark.parametrize("count", [15, 30, 60, 90, 240])
def test_images_are_shared_only_where_a_class_has_too_few(count: int) -> None:
    federation = deal(ClassGroups(count=count))
    held = uses(federation.train_of, len(STL_TRAIN))
    assert STL_TRAIN.labels is not None
    demand = federation.class_counts().sum(dim=0)
    expected_shared = 0
    for c in range(10):
        of_class = held[STL_TRAIN.labels == c]
        rounds, extra = divmod(int(demand[c]), 500)
        assert of_class.min() == rounds
        assert of_class.max() == rounds + (extra > 0)
        assert int((of_class == rounds + 1).sum()) == extra
        expected_shared += extra if rounds == 1 else 500 if rounds > 1 else 0
    assert federation.n_shared_images() == expected_shared


def test_ninety_clients_must_share_images_and_thirty_need_not() -> None:
    assert deal(ClassGroups(count=90)).n_shared_images() > 0
    assert deal(ClassGroups(count=30)).n_shared_images() == 0


def test_a_trial_is_dealt_again_exactly_and_another_trial_differently() -> None:
    first, again, other = deal(ClassGroups(), 3), deal(ClassGroups(), 3), deal(ClassGroups(), 4)
    assert all(map(torch.equal, first.train_of, again.train_of))
    assert all(map(torch.equal, first.test_of, again.test_of))
    assert not all(map(torch.equal, first.train_of, other.train_of))


def test_the_split_does_not_depend_on_random_numbers_that_a_method_has_drawn() -> None:
    first = deal(ClassGroups())
    torch.manual_seed(99)
    torch.rand(1000)
    assert all(map(torch.equal, first.train_of, deal(ClassGroups()).train_of))


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


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(1, 200))
def test_proportional_parts_are_within_one_of_their_share(sizes: list[int], total: int) -> None:
    counts = dict(enumerate([*sizes, 1]))
    parts = proportional(counts, total)
    whole = sum(counts.values())
    assert sum(parts.values()) == total
    assert all(abs(parts[c] - Fraction(total * counts[c], whole)) < 1 for c in counts)


def test_proportional_parts_by_hand() -> None:
    counts = {0: 5, 1: 20, 2: 20, 3: 5}
    assert proportional(counts, 50) == counts
    assert proportional(counts, 30) == {0: 3, 1: 12, 2: 12, 3: 3}
    # Shares of 6 are 0.6, 2.4, 2.4, 0.6: both left over go to the largest remainders.
    assert proportional(counts, 6) == {0: 1, 1: 2, 2: 2, 3: 1}
    # Shares of 25 are 2.5, 10, 10, 2.5: the remainders tie, and the first class gets the one left.
    assert proportional(counts, 25) == {0: 3, 1: 10, 2: 10, 3: 2}


def test_a_class_smaller_than_what_one_client_needs_is_named() -> None:
    with pytest.raises(ValueError, match=r"class \d has 19 training images, but one client needs"):
        ClassGroups().deal(portion(19), STL_TEST, 10, Seeds(0))
    with pytest.raises(ValueError, match=r"class \d has 19 test images, but one client needs 20"):
        ClassGroups().deal(STL_TRAIN, portion(19), 10, Seeds(0))


def test_data_that_do_not_fit_the_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="class 9 does not exist, the data have 5 classes"):
        ClassGroups().deal(portion(500, 5), STL_TEST, 5, Seeds(0))
    with pytest.raises(ValueError, match="the training images have none"):
        ClassGroups().deal(ImageSet(STL_TRAIN.images), STL_TEST, 10, Seeds(0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 2}, "count = 2"),
        ({"groups": ()}, "at least one group"),
        ({"groups": ((0, 0),)}, r"\[0, 0\]"),
        ({"groups": ((0, -1),)}, r"\[0, -1\]"),
        ({"n_major": 5}, "n_major = 5"),
        ({"major": 5, "minor": 6}, "minor = 6"),
        ({"test_size": 0}, "test_size = 0"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClassGroups(**options)  # type: ignore[arg-type]
