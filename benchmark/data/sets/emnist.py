"""EMNIST, `balanced` split: 112,800 and 18,800 characters, 28x28 grey, 47 classes.

Cohen et al. 2017. CP-CFL pre-trains on 'EMNIST' without saying which of the six splits. Taken here
is `balanced`: letters and digits, and in number close to STL-10's 100,000 unlabelled images with
which CP-CFL compares it; `byclass` has 697,932, seven times the steps at the same epochs.

The release stores images with rows and columns swapped (torchvision leaves them so); here they
stand upright, as MNIST's do. Only the archive has a known checksum, so images are read from it
where it is there; unpacked files are never known to be the release.
"""

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..fetch import md5_of
from ..formats import IdxSet, read_idx

_ZIP = "gzip.zip"


class Emnist(IdxSet):
    """`EMNIST/raw/gzip.zip`, as torchvision fetches it, or `emnist-balanced-*-ubyte` beside it."""

    n_classes = 47
    transposed = True

    def present(self, path: Path) -> bool:
        return path.with_name(_ZIP).is_file() or super().present(path)

    def read_file(self, path: Path, dimensions: int) -> tuple[NDArray[np.uint8], bool]:
        packed, name = path.with_name(_ZIP), f"gzip/{path.name}.gz"
        if not packed.is_file():
            return super().read_file(path, dimensions)
        self.check(packed, md5_of(packed))
        with zipfile.ZipFile(packed) as held, held.open(name) as file:
            return read_idx(packed / name, dimensions, file)[1], True
