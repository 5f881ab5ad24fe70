"""Rendered characters, 28x28, named after style and classes, as in `glyphs-colour-patches-a`.

Styles: `grey` (even ground), `grey-patches` (a ground of soft patches), `grey-moved` (the same
tones in all images; much place, size and turn), `colour`, `colour-patches` and `colour-hard` (more
of everything). Classes: `a` (10 Latin letters), `b` (10 Cyrillic ones), `100` and `200`. Besides,
`glyphs-digits` and `glyphs-letters` (47 classes, ten of them digits) are white on black.

They stand for STL-10 (`a`), CIFAR-10 (`b`), CIFAR-100, Tiny-ImageNet, MNIST and EMNIST `balanced`.
Every set and part is drawn from random numbers of its own, with as many images of each class as
can be. All parts have all fonts. The question is what learning from unlabelled images gives on
more of the same images, not on fonts that were never seen.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..base import DataSet, Part, Stored
from ..glyphs import CHARACTERS, DIGITS, LATIN, Look, draw

CLASSES = {
    "a": "CDEGHKLNRU",
    "b": "БДЖЛЧШЭЮыя",
    "100": CHARACTERS[:100],
    "200": CHARACTERS,
    "digits": DIGITS,
    "letters": DIGITS + LATIN,
}
_PLAIN = Look(1, smallest=0.8, shift=0.07, turn=0.13, tones=(0.0, 1.0), noise=0.0)
LOOKS = {
    "grey": Look(1, smallest=0.925, shift=0.03, turn=0.0524, light=0.15),
    "grey-patches": Look(1, smallest=0.925, shift=0.03, turn=0.0524, light=0.15, patches=0.18),
    "grey-moved": Look(1, smallest=0.6, shift=0.15, turn=0.27, tones=(0.3, 0.8)),
    "colour": Look(3, smallest=0.925, shift=0.03, turn=0.0524, light=0.15),
    "colour-patches": Look(3, smallest=0.925, shift=0.03, turn=0.0524, light=0.15, patches=0.18),
    "colour-hard": Look(3, smallest=0.875, shift=0.05, turn=0.0875, light=0.25, patches=0.3),
}
_SIZES = {"train": 6000, "test": 4000, "unlabeled": 6000}


@lru_cache(maxsize=12)
def _drawn(name: str, part: Part) -> tuple[Tensor, Tensor]:
    """Images and classes, int64; every trial of a worker asks for them."""
    look, _, classes = name.removeprefix("glyphs-").rpartition("-")
    n = 10_000 if part == "train" and classes in ("100", "200") else _SIZES[part]
    random = np.random.RandomState([*hashlib.sha256(f"{name} {part}".encode()).digest()])
    labels = (random.permutation(n) % len(CLASSES[classes])).astype(np.int64)
    characters = np.array([CHARACTERS.index(one) for one in CLASSES[classes]])[labels]
    images = draw(LOOKS.get(look, _PLAIN), characters, random)
    return torch.from_numpy(images), torch.from_numpy(labels)


class Glyphs(DataSet):
    """6,000 training images (10,000 of 100 and 200 classes), 4,000 for tests, 6,000 unlabelled."""

    has_unlabeled = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.n_classes = len(CLASSES[name.rpartition("-")[2]])

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        return Stored(*_drawn(self.name, part), True, "characters drawn by fedrepro")
