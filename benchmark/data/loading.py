"""Data sets by name: parts, fixed subsets, checksums, and the federation made of them."""

import hashlib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...methods.data.federation import Federation, ImageSet, each_once
from ...methods.data.partitions.base import Partition
from ...methods.registry import class_in
from ...methods.seeds import Seeds
from ..data_names import is_own, module_of
from ..errors import DataError
from .base import DataSet, Part, Stored, data_folder
from .fetch import once
from .images import SHARES, prepare, share, subset

_CHUNK = 2048
PARTS = ("train", *SHARES, "test", "unlabeled")


@dataclass(frozen=True)
class Loaded:
    """A part of a data set as a run uses it; is_release, note and source as in `Stored`.
    `n_classes`: 0 where the set has no labels. `checksum`: SHA-256 over images and labels of the
    part at its original size; of a selection (a half, a subset), over that and the chosen
    positions."""

    portion: ImageSet
    n_classes: int
    checksum: str
    is_release: bool
    note: str | None
    source: str


def find(name: str) -> DataSet:
    """The data set of that name, of which nothing is read; `UnknownNameError` if there is none."""
    found: DataSet = class_in(module_of(name), DataSet)(name)
    return found


def classes_of(name: str, data_dir: Path | None = None) -> int:
    """How many classes a data set has; only data of one's own are read."""
    n_classes: int = (_own(name, data_dir, False) if is_own(name) else find(name)).n_classes
    return n_classes


def _own(name: str, data_dir: Path | None, download: bool) -> Any:
    # By name: other runs do not depend on how data of one's own are read.
    return importlib.import_module("fedrepro.benchmark.data.own").content(name, data_dir, download)


def load(
    name: str,
    part: str,
    *,
    image_size: int | None = None,
    channels: int | None = None,
    data_dir: Path | None = None,
    images: int | None = None,
    download: bool = False,
) -> Loaded:
    """One part of a data set. `part`: `train`, `test` or `unlabeled`, which is the training images
    without labels where the set has no unlabelled ones. `train-a` and `train-b` are fixed disjoint
    halves of the training images. `train-70` and `train-30` are seven tenths of them, and the rest.
    `image_size`, `channels`: what images are brought to; None leaves them as they are. `data_dir`:
    as in `data_folder`. `images`: how many are taken, at random but always the same, in the
    proportions of the classes. `download`: fetches the release if it is missing. Raises
    `UnknownNameError` for an unknown set and `DataError` for an unknown part and for data that are
    missing, damaged or fewer than `images`."""
    if part not in PARTS:
        raise DataError(f"{name} has no part '{part}'; parts are {', '.join(PARTS)}")
    read: Part = "test" if part == "test" else "train"
    data = _own(name, data_dir, download) if is_own(name) else find(name)
    if not data.n_classes and part != "unlabeled":
        raise DataError(f"{name} has no part '{part}', only 'unlabeled'")
    try:
        if isinstance(data, DataSet):
            read = "unlabeled" if part == "unlabeled" and data.has_unlabeled else read
            stored = data.read(read, data_folder(data_dir), download)
        else:
            stored = data.parts.get(part) or data.parts[read]
    except OSError as error:
        raise DataError(f"{name} cannot be read ({error})") from error
    labels = None if part == "unlabeled" else stored.labels
    index = _chosen(name, part, len(stored.images), labels, images)
    checksum = _checksum(stored, labels is not None, index)
    images_used = prepare(stored.images, index, image_size, channels)
    portion = ImageSet(images_used, labels if labels is None or index is None else labels[index])
    facts = stored.is_release, stored.note, stored.source
    return Loaded(portion, data.n_classes, checksum, *facts)


def _chosen(
    name: str, part: str, n: int, labels: Tensor | None, images: int | None
) -> Tensor | None:
    index = share(part, n, labels, name) if part in SHARES else None
    n = n if index is None else len(index)
    if images is None:
        return index
    if not 0 < images <= n:
        raise DataError(f"{name} has {n} images in part '{part}', {images} were asked for")
    some = subset(n, labels if labels is None or index is None else labels[index], images, name)
    return some if index is None else index[some]


def _checksum(stored: Stored, labelled: bool, index: Tensor | None) -> str:
    def compute() -> str:
        digest = hashlib.sha256()
        for first in range(0, len(stored.images), _CHUNK):
            digest.update(stored.images[first : first + _CHUNK].contiguous().numpy().tobytes())
        if labelled and stored.labels is not None:
            digest.update(stored.labels.contiguous().numpy().tobytes())
        return digest.hexdigest()

    whole = once(f"sha256 {labelled}", stored.files, compute) if stored.files else compute()
    if index is None:
        return whole
    return hashlib.sha256(bytes.fromhex(whole) + index.contiguous().numpy().tobytes()).hexdigest()


def build_federation(
    partition: Partition,
    train: Loaded,
    test: Loaded,
    seeds: Seeds,
    image_size: int | None = None,
    channels: int | None = None,
    unlabeled: Loaded | None = None,
) -> Federation:
    """Partitions images among clients, keeps those in use, and brings only them to size. `train`,
    `test`: at their original size, so that the partition does not depend on the size that is used.
    `unlabeled`: images for learning without labels, in equal parts for the clients that train.
    Raises `DataError` if the data cannot be partitioned that way."""
    try:
        dealt = partition.deal(train.portion, test.portion, train.n_classes, seeds)
    except ValueError as error:
        raise DataError(f"{train.source}: {error}") from error
    train_images, train_of = _used(dealt.train, dealt.train_of, image_size, channels)
    test_images, test_of = _used(dealt.test, dealt.test_of, image_size, channels)
    used = replace(dealt, train=train_images, test=test_images, train_of=train_of, test_of=test_of)
    if unlabeled is None:
        return used
    extra = prepare(unlabeled.portion.images, None, image_size, channels)
    return used.with_unlabeled(extra, seeds)


def _used(
    portion: ImageSet, indices: Sequence[Tensor], image_size: int | None, channels: int | None
) -> tuple[ImageSet, tuple[Tensor, ...]]:
    """The images that somebody holds, brought to size, and the indices into them."""
    held = torch.zeros(len(portion), dtype=torch.bool)
    held[torch.cat(list(indices))] = True
    used = held.nonzero().flatten()
    images = prepare(portion.images, used, image_size, channels)
    labels = None if portion.labels is None else portion.labels[used]
    return ImageSet(images, labels), each_once(lambda i: torch.searchsorted(used, i), indices)
