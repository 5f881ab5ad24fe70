"""Handwritten digits that ship with scikit-learn: 1,797 images, 8x8 grey, 10 classes.

The test part of the UCI 'optical recognition of handwritten digits' (Alpaydin and Kaynak 1998):
counts of dark pixels from 0 to 16, here stretched to 0 to 255. Nothing is downloaded.

The set has no official parts. A fixed permutation, stratified by class, gives 600 training, 500
test and 697 unlabelled images that do not overlap; the same 13 people wrote all three parts.
"""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..base import DataSet, Part, Stored
from ..images import mixed_order

_BOUNDS = {"train": (0, 600), "test": (600, 1100), "unlabeled": (1100, 1797)}


@cache
def _release() -> tuple[Tensor, Tensor]:
    """Counts n x 1 x 8 x 8 and classes, int64; every trial of a worker asks for them."""
    from sklearn.datasets import load_digits

    held = load_digits()
    counts = torch.from_numpy(held.images.astype(np.int64)).unsqueeze(1)
    return counts, torch.from_numpy(held.target.astype(np.int64))


class Digits(DataSet):
    """Real images without a download, for reduced runs and tests."""

    n_classes = 10
    has_unlabeled = True

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        counts, labels = _release()
        order = mixed_order(len(labels), labels, "digits", "parts")
        index = order[slice(*_BOUNDS[part])].sort().values
        images = torch.div(counts[index] * 255 + 8, 16, rounding_mode="floor").to(torch.uint8)
        return Stored(images, labels[index], True, "scikit-learn, load_digits")
