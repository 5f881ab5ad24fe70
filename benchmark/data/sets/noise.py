"""Uniform noise in colour, 28x28: the placebo of learning without labels.

Each byte is drawn alone, so that there is nothing to learn from the images. They are as many and
as large as those of rendered glyphs. Those for training and tests are in ten classes at random.
"""

from pathlib import Path

import numpy as np
import torch

from ..base import DataSet, Part, Stored

_DRAWN = {"unlabeled": (0, 6000), "train": (1, 6000), "test": (2, 4000)}
"""By part, its seed and how many images it has."""


class Noise(DataSet):
    """6,000 training images, 4,000 for tests, 6,000 unlabelled."""

    n_classes = 10
    has_unlabeled = True

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        seed, n = _DRAWN[part]
        drawn = np.random.RandomState(seed).randint(0, 256, (n, 3, 28, 28), np.uint8)
        labels = None if part == "unlabeled" else torch.arange(n) % self.n_classes
        return Stored(torch.from_numpy(drawn), labels, is_release=True, source="drawn by fedrepro")
