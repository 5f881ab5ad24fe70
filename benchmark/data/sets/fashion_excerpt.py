"""An excerpt of Fashion-MNIST that comes with fedrepro: 8,000 pieces of clothing, 28x28 grey.

Source: Xiao et al. 2017, under the MIT licence, with its text beside the files. Of each of the ten
classes, the first 400 images of the release's training part are for training, and the next 200 are
unlabelled. The first 200 of its test part are for testing. No image is in two parts.
`tools/excerpt.py` makes the files from the release.
"""

from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from ..base import DataSet, Part, Stored
from ..formats import read_shipped

FOLDER = Path(__file__).parents[1] / "excerpts" / "fashion-mnist"
IMAGES, LABELS = "images-idx3-ubyte.gz", "labels-idx1-ubyte.gz"
_SHA256 = {
    IMAGES: "1a6357fd6c9651d694ea1670b69a23b9c90b59f3ad94e92a7a2056801acf923f",
    LABELS: "3333385b53950cb7e341b6628c605bdcba60833d4fcac151ed63ee5420b76a66",
}
_BOUNDS = {"train": (0, 4000), "unlabeled": (4000, 6000), "test": (6000, 8000)}


@cache
def _excerpt() -> tuple[Tensor, Tensor]:
    """Images n x 1 x 28 x 28 and classes, int64; every trial of a worker asks for them."""
    images = read_shipped(FOLDER / IMAGES, 3, _SHA256[IMAGES])
    labels = read_shipped(FOLDER / LABELS, 1, _SHA256[LABELS])
    return torch.from_numpy(images).unsqueeze(1), torch.from_numpy(labels).to(torch.int64)


class FashionExcerpt(DataSet):
    """Real images without a download that tell methods apart, for reduced runs."""

    n_classes = 10
    has_unlabeled = True

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        rows, source = slice(*_BOUNDS[part]), "an excerpt of Fashion-MNIST that comes with fedrepro"
        images, labels = (held[rows] for held in _excerpt())
        return Stored(images, labels, True, source)
