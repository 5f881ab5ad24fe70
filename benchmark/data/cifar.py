"""What CIFAR-10 and CIFAR-100 have in common: pickled batches.

Reading a pickle may run code: the very bytes that are read are held against the release's checksum
every time, and may name nothing but what NumPy arrays consist of.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from ..errors import DataError
from .base import Part, ReleasedSet, Stored

_LARGEST = 1 << 28
"""Bytes; the largest batch of a release has 155 million."""
_ARRAYS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("_codecs", "encode"),
}
"""What a pickled array of bytes is made of, as old and new versions of NumPy write it."""


class CifarSet(ReleasedSet):
    """Colour images of 32x32; `labels` is the name under which a batch holds its labels."""

    channels = 3
    labels: ClassVar[str]

    def read_release(self, part: Part, place: Path, folder: Path) -> Stored:
        batches = [self._read(place / name) for name in self.parts[part]]
        pixels = np.concatenate([batch["data"] for batch in batches]).reshape(-1, 3, 32, 32)
        labels = [label for batch in batches for label in batch[self.labels]]
        return Stored(
            torch.from_numpy(pixels),
            torch.tensor(labels, dtype=torch.int64),
            is_release=True,
            source=str(place),
        )

    def _read(self, path: Path) -> Mapping[str, Any]:
        """A batch; `data` is uint8, n x 3072, the labels are a list of n."""
        with path.open("rb") as file:
            content = file.read(_LARGEST)
        self.check(path, hashlib.md5(content, usedforsecurity=False).hexdigest())
        try:
            batch: Mapping[str, Any] = _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
        except pickle.UnpicklingError as error:
            raise DataError(f"{path} cannot be read: {error}") from error
        return batch


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no array needs")
        return super().find_class(module, name)
