"""The files of MNIST and its relatives (IDX), and of CIFAR-10 and CIFAR-100 (pickled batches).

torchvision reads both, but does not check lengths and content and takes seconds to import; it is
the reference in `tests/benchmark/data`.
"""

import gzip
import hashlib
import io
import math
import pickle
import struct
import zlib
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import DataError
from .base import Part, ReleasedSet, Stored

_LARGEST = 1 << 30
"""Bytes of an IDX file that are read at most; the largest part of the sets has 88 million."""


def read_idx(
    path: Path, dimensions: int, packed: IO[bytes] | None = None
) -> tuple[bytearray, NDArray[np.uint8]]:
    """What an IDX file of bytes holds, unpacked if its name ends in .gz, and the array in it.

    `packed`: the open file in an archive. Raises `DataError` if it is damaged, or has another
    header."""
    again = "delete it and fetch it again with --download"
    try:
        with gzip.open(packed or path) if path.suffix == ".gz" else path.open("rb") as file:
            content = bytearray(file.read(_LARGEST))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is damaged ({error}); {again}") from error
    start = 4 + 4 * dimensions
    if content[:4] != bytes((0, 0, 8, dimensions)) or len(content) < start:
        said = f"not an IDX file with {dimensions} dimensions of bytes"
        raise DataError(f"{path} is damaged: {said}; {again}")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    if (found := len(content) - start) != (wanted := math.prod(shape)):
        said = f"{found:,} bytes of data, its header says {wanted:,} bytes"
        raise DataError(f"{path} is damaged: {said}; {again}")
    return content, np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_shipped(path: Path, dimensions: int, sha256: str) -> NDArray[np.uint8]:
    """The array in an IDX file that comes with fedrepro; `DataError` if it is another file.

    `sha256`: of the unpacked file, since compressors differ."""
    content, array = read_idx(path, dimensions)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"{path} is not the file that comes with fedrepro; install again")
    return array


class IdxSet(ReleasedSet):
    """Grey images and labels in IDX files, gzipped or not; `md5` is of the unpacked files."""

    def present(self, path: Path) -> bool:
        return _stored(path).is_file()

    def read_release(self, part: Part, place: Path) -> Stored:
        image_file, label_file = (place / name for name in self.parts[part])
        images = torch.from_numpy(self.read_file(image_file, 3)).unsqueeze(1)
        labels = torch.from_numpy(self.read_file(label_file, 1)).to(torch.int64)
        return Stored(images, labels, is_release=True, source=str(place))

    def read_file(self, path: Path, dimensions: int) -> NDArray[np.uint8]:
        """The array in a file of the release."""
        content, array = read_idx(_stored(path), dimensions)
        self.check(path, hashlib.md5(content, usedforsecurity=False).hexdigest())
        return array


def _stored(path: Path) -> Path:
    """`path`, or `path`.gz where there is no such file."""
    return path if path.is_file() else path.with_name(path.name + ".gz")


class CifarSet(ReleasedSet):
    """Colour images of 32x32; `labels` is the name under which a batch holds its labels. Reading a
    pickle may run code: the very bytes that are read are compared with the release's checksum every
    time, and may name nothing but what NumPy arrays consist of."""

    labels: ClassVar[str]

    def read_release(self, part: Part, place: Path) -> Stored:
        batches = [self._batch(place / name) for name in self.parts[part]]
        pixels = np.concatenate([batch["data"] for batch in batches]).reshape(-1, 3, 32, 32)
        labels = [label for batch in batches for label in batch[self.labels]]
        numbers = torch.tensor(labels, dtype=torch.int64)
        return Stored(torch.from_numpy(pixels), numbers, is_release=True, source=str(place))

    def _batch(self, path: Path) -> Any:
        """`data` is uint8, n x 3072, the labels are a list of n."""
        content = path.read_bytes()
        self.check(path, hashlib.md5(content, usedforsecurity=False).hexdigest())
        try:
            return _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
        except pickle.UnpicklingError as error:
            raise DataError(f"{path} cannot be read: {error}") from error


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # What a pickled array of bytes is made of, as old and new versions of NumPy write it.
        numpy = module.startswith("numpy") and name in ("ndarray", "dtype", "_reconstruct")
        if numpy or (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no array needs")
