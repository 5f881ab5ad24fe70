"""Unlabelled patches of the two photographs that ship with scikit-learn, unlike any digit.

A pre-training set that is meant not to fit reduced runs on `digits`, as STL-10 does not fit
MNIST in CP-CFL's Table 5. Each photograph (427x640, a temple and a flower) is cut into squares of
16x16 pixels that do not overlap, 350 of each are taken by a fixed permutation and halved to 8x8:
at full size most squares of 8x8 show nothing but one shade. Ask for `channels = 1` for grey.
"""

from pathlib import Path

import torch
from torch import Tensor

from ...errors import DataError
from ..base import DataSet, Part, Stored
from ..selection import mixed_order

_SQUARE = 16
_EACH = 350


class PhotoPatches(DataSet):
    """700 colour patches of 8x8; `unlabeled` is the only part."""

    n_classes = 0
    has_unlabeled = True

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        if part != "unlabeled":
            raise DataError(f"photo-patches has no part '{part}', only 'unlabeled'")
        from sklearn.datasets import load_sample_images

        held = load_sample_images()
        chosen = []
        for i, photo in enumerate(held.images):
            patches = _patches(torch.tensor(photo))
            order = mixed_order(len(patches), None, "photo-patches", i)
            chosen.append(patches[order[:_EACH].sort().values])
        source = "scikit-learn, load_sample_images"
        return Stored(torch.cat(chosen), None, is_release=True, source=source)


def _patches(photo: Tensor) -> Tensor:
    """All squares of a photo (uint8, height x width x 3), halved: n x 3 x 8 x 8."""
    squares = photo.permute(2, 0, 1).unfold(1, _SQUARE, _SQUARE).unfold(2, _SQUARE, _SQUARE)
    squares = squares.permute(1, 2, 0, 3, 4).reshape(-1, 3, _SQUARE, _SQUARE)
    halved = torch.nn.functional.avg_pool2d(squares.to(torch.float32), 2)
    return halved.round().to(torch.uint8)
