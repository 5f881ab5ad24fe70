"""STL-10: 5,000 and 8,000 labelled, 100,000 unlabelled photographs, 96x96 colour.

Coates et al. 2011. Not read by torchvision, which hashes the unlabelled 2.8 GB before it gives the
5,000 training images; here files are mapped, and only images that are used are read.
"""

from pathlib import Path

import numpy as np
import torch

from ..base import Part, ReleasedSet, Stored
from ..fetch import Archive, md5_of

_SHAPE = (3, 96, 96)
_FOLDER = "stl10_binary"
_PARTS = {
    "train": ("train_X.bin", "train_y.bin"),
    "test": ("test_X.bin", "test_y.bin"),
    "unlabeled": ("unlabeled_X.bin",),
}
_MD5 = {
    "train_X.bin": "918c2871b30a85fa023e0c44e0bee87f",
    "train_y.bin": "5a34089d4802c674881badbb80307741",
    "unlabeled_X.bin": "5242ba1fed5e4be9e1e742405eb56ca4",
    "test_X.bin": "7f263ba9f9e0b06b93213547f721ac82",
    "test_y.bin": "36f9794fa4beb8a2c72628de14fa638e",
}


class Stl10(ReleasedSet):
    """The release as torchvision lays it out, `stl10_binary/*.bin`."""

    n_classes = 10
    channels = 3
    has_unlabeled = True
    folder = _FOLDER
    parts = _PARTS
    md5 = _MD5
    archives = (
        Archive(
            "https://cs.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
            2_640_397_119,
            "91f7769df0f17e558f3565bffb0c7dfb",
            members=tuple(f"{_FOLDER}/{name}" for name in _MD5),
        ),
    )

    def read_release(self, part: Part, place: Path) -> Stored:
        paths = tuple(place / name for name in self.parts[part])
        for path in paths:
            self.check(path, md5_of(path))
        # Copy on write: torch wants writable memory, and the file must stay as it is.
        pixels = np.memmap(paths[0], dtype=np.uint8, mode="c").reshape(-1, *_SHAPE)
        labels = None
        if part != "unlabeled":
            numbers = np.fromfile(paths[1], dtype=np.uint8).astype(np.int64)
            labels = torch.from_numpy(numbers - 1)
        # Columns come before rows in the file.
        images = torch.from_numpy(pixels).transpose(2, 3)
        return Stored(images, labels, is_release=True, source=str(place), files=paths)
