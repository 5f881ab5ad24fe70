"""STL-10: 5,000 and 8,000 labelled, 100,000 unlabelled photographs, 96x96 colour.

Coates et al. 2011. Not read by torchvision, which hashes the unlabelled 2.8 GB before it gives the
5,000 training images; here files are mapped, and only images that are used are read.
"""

from pathlib import Path

import numpy as np
import torch

from ..base import Part, ReleasedSet, Stored
from ..fetch import md5_of


class Stl10(ReleasedSet):
    """The release as torchvision lays it out, `stl10_binary/*.bin`."""

    n_classes = 10
    has_unlabeled = True

    def read_release(self, part: Part, place: Path) -> Stored:
        paths = tuple(place / name for name in self.parts[part])
        for path in paths:
            self.check(path, md5_of(path))
        # Copy on write: torch wants writable memory, and the file must stay as it is.
        pixels = np.memmap(paths[0], dtype=np.uint8, mode="c").reshape(-1, 3, 96, 96)
        labels = None
        if part != "unlabeled":
            numbers = np.fromfile(paths[1], dtype=np.uint8).astype(np.int64)
            labels = torch.from_numpy(numbers - 1)
        # Columns come before rows in the file.
        images = torch.from_numpy(pixels).transpose(2, 3)
        return Stored(images, labels, is_release=True, source=str(place), files=paths)
