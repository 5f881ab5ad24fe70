import hashlib
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fedrepro.benchmark.data import build_federation, load
from fedrepro.benchmark.data.images import mixed_order, prepare, share, subset
from fedrepro.benchmark.errors import DataError
from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.data.partitions.class_groups import ClassGroups
from fedrepro.methods.seeds import Seeds

SMALL = ClassGroups(count=6, major=4, minor=2, test_size=6)


def pixels(portion: ImageSet) -> list[bytes]:
    return [image.numpy().tobytes() for image in portion.images]


@pytest.fixture
def fashion(tmp_path: Path) -> Path:
    """A set without unlabelled images of its own, as image folders; no two images are alike."""
    for label in range(10):
        for i in range(7):
            path = tmp_path / "own" / ("train" if i < 6 else "test") / str(label) / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((8, 8), 10 * label + i, dtype=np.uint8)).save(path)
    return tmp_path


def test_halves_of_the_training_part_are_disjoint_and_complete(fashion: Path) -> None:
    whole = load("own/", "train", data_dir=fashion).portion
    first, second = (load("own/", f"train-{h}", data_dir=fashion).portion for h in "ab")
    assert sorted(pixels(first) + pixels(second)) == sorted(pixels(whole))
    assert not set(pixels(first)) & set(pixels(second))
    assert first.labels is not None
    assert torch.bincount(first.labels).tolist() == [3] * 10
    assert torch.equal(first.labels, torch.tensor([p[0] // 10 for p in pixels(first)]))


def test_a_subset_is_fixed_and_holds_all_classes(fashion: Path) -> None:
    some = load("own/", "train", data_dir=fashion, images=20).portion
    again = load("own/", "train", data_dir=fashion, images=20).portion
    assert torch.equal(some.images, again.images)
    assert some.labels is not None
    assert torch.bincount(some.labels).tolist() == [2] * 10
    half = load("own/", "train-b", data_dir=fashion, images=10).portion
    whole = load("own/", "train-b", data_dir=fashion).portion
    assert set(pixels(half)) < set(pixels(whole))


@pytest.mark.parametrize("images", [0, 61])
def test_more_images_than_there_are_is_an_error(images: int, fashion: Path) -> None:
    with pytest.raises(DataError, match=f"60 images in part 'train', {images} were asked for"):
        load("own/", "train", data_dir=fashion, images=images)


def test_the_checksum_covers_images_and_labels() -> None:
    train = load("digits", "train")
    assert train.portion.labels is not None
    content = train.portion.images.numpy().tobytes() + train.portion.labels.numpy().tobytes()
    assert train.checksum == hashlib.sha256(content).hexdigest()
    sums = [load("digits", part).checksum for part in ("test", "unlabeled", "train-a", "train-b")]
    sums += [train.checksum, load("digits", "train", images=10).checksum]
    assert len(set(sums)) == len(sums)


def test_only_images_in_use_are_kept_and_every_client_has_its_own() -> None:
    train, test = load("digits", "train"), load("digits", "test")
    dealt = SMALL.deal(train.portion, test.portion, 10, Seeds(0))
    kept = build_federation(SMALL, train, test, Seeds(0))
    assert len(kept.train) == len(set(torch.cat(dealt.train_of).tolist())) < len(train.portion)
    for before, after, whole, used in (
        (dealt.train_of, kept.train_of, train.portion, kept.train),
        (dealt.test_of, kept.test_of, test.portion, kept.test),
    ):
        assert whole.labels is not None
        assert used.labels is not None
        for old, new in zip(before, after, strict=True):
            assert torch.equal(whole.images[old], used.images[new])
            assert torch.equal(whole.labels[old], used.labels[new])
    assert torch.equal(kept.class_counts(), dealt.class_counts())
    assert kept.n_shared_images() == dealt.n_shared_images()


def test_unlabelled_images_are_brought_to_size_and_dealt_beside_the_labelled_ones() -> None:
    train, test = load("digits", "train"), load("digits", "test")
    other = load("digits", "unlabeled")
    plain = build_federation(SMALL, train, test, Seeds(0), 12, 3)
    both = build_federation(SMALL, train, test, Seeds(0), 12, 3, other)
    dealt = torch.cat(both.unlabeled_of)
    assert sorted(dealt.tolist()) == list(range(len(plain.train), len(plain.train) + 697))
    resized = prepare(other.portion.images, None, 12, 3)
    assert torch.equal(both.train.images[len(plain.train) :], resized)
    assert all(map(torch.equal, both.train_of, plain.train_of))


def test_data_that_cannot_be_dealt_are_an_error_that_names_them() -> None:
    digits = load("digits", "train")
    with pytest.raises(DataError, match=r"load_digits: class \d has \d+ training images"):
        build_federation(ClassGroups(major=90), digits, digits, Seeds(0))


class_lists = st.lists(st.integers(0, 4), min_size=1, max_size=80)


@settings(max_examples=60, deadline=None)
@given(class_lists)
def test_every_beginning_has_the_classes_of_the_whole(classes: list[int]) -> None:
    labels = torch.tensor(classes)
    order = mixed_order(len(labels), labels, "x")
    assert sorted(order.tolist()) == list(range(len(labels)))
    sizes = Counter(classes)
    for m in range(1, len(labels) + 1):
        got = Counter(labels[order[:m]].tolist())
        # Some fraction t exists such that every class has t of its images, rounded.
        lowest = max(Fraction(2 * got[c] - 1, 2 * n) for c, n in sizes.items())
        highest = min(Fraction(2 * got[c] + 1, 2 * n) for c, n in sizes.items())
        assert lowest <= highest


@settings(max_examples=40, deadline=None)
@given(class_lists, st.booleans(), st.booleans())
def test_shares_are_disjoint_and_complete(classes: list[int], labelled: bool, halves: bool) -> None:
    n, labels = len(classes), torch.tensor(classes) if labelled else None
    parts = ("train-a", "train-b") if halves else ("train-70", "train-30")
    first, second = (share(part, n, labels, "x").tolist() for part in parts)
    assert sorted(first + second) == list(range(n))
    assert len(first) == ((n + 1) // 2 if halves else round(0.7 * n))


@pytest.mark.parametrize("labels", [None, torch.arange(5).repeat(10)])
def test_orders_and_subsets_are_fixed_but_differ_by_name(labels: torch.Tensor | None) -> None:
    torch.manual_seed(5)
    assert torch.equal(mixed_order(50, labels, "a"), mixed_order(50, labels, "a"))
    assert not torch.equal(mixed_order(50, labels, "a"), mixed_order(50, labels, "b"))
    small, large = (set(subset(50, labels, n, "a").tolist()) for n in (15, 35))
    assert small < large
