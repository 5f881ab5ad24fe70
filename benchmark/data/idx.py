"""The IDX format of MNIST and its relatives: a header and bytes, gzipped or not.

torchvision reads it too, but checks neither length nor content and takes seconds to import; it is
the reference in `tests/benchmark/data/test_idx.py`.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from fedrepro.benchmark.data.base import Part, ReleasedSet, Stored
from fedrepro.benchmark.data.cache import knows
from fedrepro.benchmark.data.fetch import release_key
from fedrepro.benchmark.errors import DataError


def unpacked(path: Path) -> bytearray:
    """The content of `path`, or of `path`.gz where only that exists.

    Raises `DataError` if the gzip file is cut off or damaged.
    """
    if path.is_file():
        return bytearray(path.read_bytes())
    zipped = path.with_name(path.name + ".gz")
    try:
        with gzip.open(zipped) as file:
            return bytearray(file.read())
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{zipped} is damaged ({error}); delete it and fetch it again with --download"
        ) from error


def parse_idx(content: bytearray, dimensions: int, path: Path) -> NDArray[np.uint8]:
    """The array of bytes in an IDX file; `path` names it in messages.

    Raises `DataError` if the header is another one or the length is wrong.
    """
    start = 4 + 4 * dimensions
    if content[:4] != bytes((0, 0, 8, dimensions)) or len(content) < start:
        raise DataError(f"{path} is damaged: not an IDX file with {dimensions} dimensions of bytes")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    if len(content) - start != math.prod(shape):
        raise DataError(
            f"{path} is damaged: {len(content) - start:,} bytes of data, its header says "
            f"{math.prod(shape):,}; delete it and fetch it again with --download"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


class IdxSet(ReleasedSet):
    """Grey images and labels in IDX files.

    folder: below the data folder. pattern: of a file's name, with {part} and {kind}. part_names:
    how the files name parts. md5: of the unpacked files by name; files without one count as the
    release only if `--download` unpacked them from the released archive.
    transposed: whether rows and columns of the images are swapped.
    """

    channels = 1
    folder: ClassVar[str]
    pattern: ClassVar[str]
    part_names: ClassVar[Mapping[str, str]]
    md5: ClassVar[Mapping[str, str]] = {}
    transposed: ClassVar[bool] = False

    def files(self, part: Part) -> tuple[str, ...]:
        return tuple(
            f"{self.folder}/{self.pattern.format(part=self.part_names[part], kind=kind)}"
            for kind in ("images-idx3", "labels-idx1")
        )

    def present(self, path: Path) -> bool:
        return path.is_file() or path.with_name(path.name + ".gz").is_file()

    def read_release(self, part: Part, folder: Path) -> Stored:
        image_file, label_file = (folder / name for name in self.files(part))
        pixels, released_images = self._read(image_file, 3, folder)
        numbers, released_labels = self._read(label_file, 1, folder)
        if len(pixels) != len(numbers):
            raise DataError(
                f"{image_file} has {len(pixels)} images, {label_file} {len(numbers)} labels"
            )
        images = torch.from_numpy(pixels).unsqueeze(1)
        released = released_images and released_labels
        return Stored(
            images.transpose(2, 3) if self.transposed else images,
            torch.from_numpy(numbers).to(torch.int64),
            is_release=released,
            source=str(image_file.parent),
            note=None if released else f"{self.name}: no checksum is known to hold the files to",
        )

    def _read(self, path: Path, dimensions: int, folder: Path) -> tuple[NDArray[np.uint8], bool]:
        """The array in a file, and whether it is known to be the release's."""
        content = unpacked(path)
        array = parse_idx(content, dimensions, path)
        if path.name in self.md5:
            found = hashlib.md5(content, usedforsecurity=False).hexdigest()
            if found != self.md5[path.name]:
                raise DataError(
                    f"{path} is not the release's file (MD5 of its content {found}, not "
                    f"{self.md5[path.name]}); delete it and fetch it again with --download"
                )
            return array, True
        # An archive within an archive is remembered as it was unpacked: still gzipped.
        zipped = path.with_name(path.name + ".gz")
        stored = bytes(content) if path.is_file() else zipped.read_bytes()
        found = hashlib.md5(stored, usedforsecurity=False).hexdigest()
        return array, knows(folder, release_key(found))
