"""EMNIST, `balanced` split: 112,800 and 18,800 characters, 28x28 grey, 47 classes.

Cohen et al. 2017. CP-CFL pre-trains on 'EMNIST' without saying which of the six splits. Taken here
is `balanced`: letters and digits, and in number close to STL-10's 100,000 unlabelled images with
which CP-CFL compares it. `byclass` has 697,932, seven times the steps at the same epochs.

The release stores images with rows and columns swapped (torchvision leaves them so); here they
stand upright, as MNIST's do. Only the archive has a known checksum, so images are read from it.
"""

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base import Part
from ..fetch import md5_of
from ..formats import IdxSet, read_idx

_ZIP = "gzip.zip"


class Emnist(IdxSet):
    """`EMNIST/raw/gzip.zip`, as torchvision fetches it."""

    n_classes = 47

    def files(self, part: Part) -> tuple[str, ...]:
        return (f"{self.folder}/{_ZIP}",)

    def read_file(self, path: Path, dimensions: int) -> NDArray[np.uint8]:
        packed, name = path.with_name(_ZIP), f"gzip/{path.name}.gz"
        self.check(packed, md5_of(packed))
        with zipfile.ZipFile(packed) as held, held.open(name) as file:
            array = read_idx(packed / name, dimensions, file)[1]
        return array.swapaxes(1, 2) if dimensions == 3 else array
