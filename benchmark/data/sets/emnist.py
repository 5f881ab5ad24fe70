"""EMNIST, `balanced` split: 112,800 and 18,800 characters, 28x28 grey, 47 classes.

Cohen et al. 2017. CP-CFL pre-trains on 'EMNIST' without saying which of the six splits. Taken here
is `balanced`: letters and digits, and in number close to STL-10's 100,000 unlabelled images with
which CP-CFL compares it; `byclass` has 697,932, seven times the steps at the same epochs.

The release stores images with rows and columns swapped (torchvision leaves them so); here they
stand upright, as MNIST's do.
"""

from __future__ import annotations

from ..fetch import Archive
from ..formats import IdxSet, idx_parts

_PARTS = idx_parts("emnist-balanced-train", "emnist-balanced-test")


class Emnist(IdxSet):
    """The release as torchvision lays it out, `EMNIST/raw/emnist-balanced-*-ubyte`."""

    n_classes = 47
    folder = "EMNIST/raw"
    parts = _PARTS
    transposed = True
    archives = (
        Archive(
            "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
            561_753_746,
            "58c8d27c78d21e728a6bc7b3cc06412e",
            members={
                f"gzip/{name}.gz": f"EMNIST/raw/{name}.gz"
                for names in _PARTS.values()
                for name in names
            },
        ),
    )
