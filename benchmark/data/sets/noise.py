"""Unlabelled uniform noise in colour, 28x28: the placebo of pre-training.

Each byte of 6,000 images is drawn alone, so that there is nothing to learn from them. They are as
many and as large as the unlabelled images of rendered glyphs.
"""

from pathlib import Path

import numpy as np
import torch

from ..base import DataSet, Part, Stored


class Noise(DataSet):
    """6,000 images."""

    n_classes = 0
    has_unlabeled = True

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        drawn = np.random.RandomState(0).randint(0, 256, (6000, 3, 28, 28), np.uint8)
        return Stored(torch.from_numpy(drawn), None, is_release=True, source="drawn by fedrepro")
