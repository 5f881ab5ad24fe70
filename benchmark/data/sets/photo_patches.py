"""Unlabelled patches of the two photographs that ship with scikit-learn, unlike any digit.

A pre-training set that is meant not to fit reduced runs on `digits`, as STL-10 does not fit MNIST
in CP-CFL's Table 5. Each photograph (427x640, a temple and a flower) is cut into squares of 16x16
pixels that do not overlap. A fixed permutation takes 350 of each, which are halved to 8x8. At full
size most squares of 8x8 show nothing but one shade. Ask for `channels = 1` for grey.
"""

from pathlib import Path

import torch

from ..base import DataSet, Part, Stored
from ..images import mixed_order


class PhotoPatches(DataSet):
    """700 colour patches of 8x8."""

    n_classes = 0
    has_unlabeled = True

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        from sklearn.datasets import load_sample_images

        chosen = []
        for i, photo in enumerate(load_sample_images().images):
            squares = torch.tensor(photo).unfold(0, 16, 16).unfold(1, 16, 16)
            whole = squares.reshape(-1, 3, 16, 16).to(torch.float32)
            patches = torch.nn.functional.avg_pool2d(whole, 2).round().to(torch.uint8)
            order = mixed_order(len(patches), None, "photo-patches", i)
            chosen.append(patches[order[:350].sort().values])
        source = "scikit-learn, load_sample_images"
        return Stored(torch.cat(chosen), None, is_release=True, source=source)
