"""The data of all clients: one uint8 tensor per portion, clients are index lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..seeds import Seeds
from ..transfer import all_to

UNLABELED = -1
"""Label of an image that has none, among images that have."""


@dataclass(frozen=True)
class ImageSet:
    """Labelled (or unlabelled) images. `images`: uint8, n x channels x height x width. `labels`:
    int64, n, or None where unlabelled."""

    images: Tensor
    labels: Tensor | None = None

    def __len__(self) -> int:
        return self.images.shape[0]

    def known_labels(self, what: str) -> Tensor:
        """The labels, int64, n; without any `ValueError`, which says that `what` needs them."""
        if self.labels is None:
            raise ValueError(f"{what} needs labels, and these images have none")
        return self.labels

    def to(self, device: torch.device | str) -> ImageSet:
        labels = None if self.labels is None else self.labels.to(device)
        return ImageSet(self.images.to(device), labels)


@dataclass(frozen=True)
class Federation:
    """Who holds which images. `train_of`, `test_of`: per client an int64 index into `train` and
    `test`; one tensor for clients that share images. `group`: int64, clients; true clusters, or
    zeros. `novel`: how many of the last never train. `unlabeled_of`: per client an index of
    `train`'s `UNLABELED` images, or empty."""

    train: ImageSet
    test: ImageSet
    train_of: tuple[Tensor, ...]
    test_of: tuple[Tensor, ...]
    group: Tensor
    n_classes: int
    novel: int = 0
    unlabeled_of: tuple[Tensor, ...] = ()

    @property
    def n_clients(self) -> int:
        """Number of clients, novel ones included."""
        return len(self.train_of)

    @property
    def n_training(self) -> int:
        """Number of clients that may take part in training: the first ones."""
        return self.n_clients - self.novel

    def sizes(self) -> Tensor:
        """Training images per client, int64."""
        return torch.tensor([len(index) for index in self.train_of])

    def class_counts(self) -> Tensor:
        """Training images per client and class, int64, clients x classes."""
        assert self.train.labels is not None
        held = torch.split(self.train.labels[torch.cat(self.train_of)].cpu(), self.sizes().tolist())
        return torch.stack(
            [torch.bincount(own[own != UNLABELED], minlength=self.n_classes) for own in held]
        )

    def test_labels(self) -> list[Tensor]:
        """Classes of each client's test images, int64; `ValueError` if they have none."""
        known = self.test.known_labels("accuracy")
        return [known[index] for index in self.test_of]

    def n_shared_images(self) -> int:
        """Training images that more than one client holds."""
        counts = torch.bincount(torch.cat(self.train_of).cpu())
        return int((counts > 1).sum())

    def with_unlabeled(self, images: Tensor, seeds: Seeds) -> Federation:
        """`images` (uint8) distributed evenly, at random, among the clients that train."""
        assert self.train.labels is not None
        labels = torch.full((len(images),), UNLABELED)
        order = torch.randperm(len(images), generator=seeds.generator("partition", "unlabelled"))
        hands = torch.tensor_split(len(self.train) + order, self.n_training)
        nothing = torch.empty(0, dtype=torch.int64)
        return replace(
            self,
            train=ImageSet(
                torch.cat([self.train.images, images]), torch.cat([self.train.labels, labels])
            ),
            unlabeled_of=(*(hand.sort().values for hand in hands), *[nothing] * self.novel),
        )

    def pooled(self) -> Federation:
        """Labelled and unlabelled images of each client together, for learning without labels."""
        if not self.unlabeled_of:
            return self
        both = zip(self.train_of, self.unlabeled_of, strict=True)
        return replace(self, train_of=tuple(map(torch.cat, both)), unlabeled_of=())

    def to(self, device: torch.device | str) -> Federation:
        indices = {id(i): i for i in (*self.train_of, *self.test_of, *self.unlabeled_of)}
        moved = all_to(torch.device(device), list(indices.values()))
        there = dict(zip(indices, moved, strict=True))
        return Federation(
            self.train.to(device),
            self.test.to(device),
            tuple(there[id(index)] for index in self.train_of),
            tuple(there[id(index)] for index in self.test_of),
            self.group.to(device),
            self.n_classes,
            self.novel,
            tuple(there[id(index)] for index in self.unlabeled_of),
        )


def each_once(change: Callable[[Tensor], Tensor], indices: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`change` of every index; indices that are one tensor stay one tensor."""
    changed = {id(index): change(index) for index in indices}
    return tuple(changed[id(index)] for index in indices)


def to_float(images: Tensor) -> Tensor:
    """uint8 images as numbers in [0, 1] of torch's default type; any shape."""
    return images.to(torch.get_default_dtype()).div_(255.0)


def labelled(own: Tensor, labels: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """`share` of the images of each class in `own`, at least one of each; int64, rising. `own`:
    int64, indices of images; `labels`: int64, classes of all images. Shares are rounded. The same
    generator gives nested sets for growing shares (`tests/methods/test_states.py`)."""
    chosen = []
    classes = labels[own]
    for c in torch.unique(classes):
        images = own[classes == c]
        order = torch.randperm(len(images), generator=generator).to(own.device)
        chosen.append(images[order[: max(1, round(share * len(images)))]])
    return torch.cat(chosen).sort().values
