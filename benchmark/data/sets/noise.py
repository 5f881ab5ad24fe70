"""Unlabelled uniform noise in colour, 28x28: pre-training on it is the placebo of pre-training.

Each byte of 6,000 images is drawn alone, so that there is nothing to learn from them. They are as
many and as large as the unlabelled images of rendered glyphs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ...errors import DataError
from ..base import DataSet, Part, Stored


@cache
def _drawn() -> Tensor:
    """uint8, 6,000 x 3 x 28 x 28; NumPy keeps the numbers of `RandomState` as they are."""
    return torch.from_numpy(np.random.RandomState(0).randint(0, 256, (6000, 3, 28, 28), np.uint8))


class Noise(DataSet):
    """6,000 images; `unlabeled` is the only part."""

    n_classes = 0
    has_unlabeled = True

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        if part != "unlabeled":
            raise DataError(f"noise has no part '{part}', only 'unlabeled'")
        return Stored(_drawn(), None, is_release=True, source="drawn by fedrepro")
