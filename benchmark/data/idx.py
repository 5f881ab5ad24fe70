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
from fedrepro.benchmark.data.cache import knows, md5_of
from fedrepro.benchmark.data.fetch import release_key
from fedrepro.benchmark.errors import DataError

_CHUNK = 1 << 20
_LARGEST = 1 << 30
"""Bytes; the largest part of the sets has 88 million."""


def unpacked(path: Path, dimensions: int) -> bytearray:
    """The content of `path`, or of `path`.gz where only that exists.

    No more is read than the header says, and one byte, so that a file which unpacks to any size
    costs nothing.

    Raises `DataError` if the gzip file is cut off or damaged, or the header asks for too much.
    """
    plain = path.is_file()
    found = path if plain else path.with_name(path.name + ".gz")
    try:
        with path.open("rb") if plain else gzip.open(found) as file:
            content = bytearray(file.read(4 + 4 * dimensions))
            wanted = _size(content, dimensions)
            if wanted > _LARGEST:
                raise DataError(f"{found} is damaged: its header says {wanted:,} bytes of data")
            left = wanted + 1
            while left and (chunk := file.read(min(_CHUNK, left))):
                content += chunk
                left -= len(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{found} is damaged ({error}); delete it and fetch it again with --download"
        ) from error
    return content


def _size(header: bytearray, dimensions: int) -> int:
    """Bytes of data that a header announces; 0 if it is cut off."""
    start = 4 + 4 * dimensions
    if len(header) < start:
        return 0
    return math.prod(struct.unpack(f">{dimensions}I", header[4:start]))


def parse_idx(content: bytearray, dimensions: int, path: Path) -> NDArray[np.uint8]:
    """The array of bytes in an IDX file; `path` names it in messages.

    Raises `DataError` if the header is another one or the length is wrong.
    """
    start = 4 + 4 * dimensions
    if content[:4] != bytes((0, 0, 8, dimensions)) or len(content) < start:
        raise DataError(f"{path} is damaged: not an IDX file with {dimensions} dimensions of bytes")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    held, wanted = len(content) - start, math.prod(shape)
    if held != wanted:
        found = f"{held:,} bytes of data" if held < wanted else "more data"
        raise DataError(
            f"{path} is damaged: {found}, its header says {wanted:,} bytes; delete it and fetch it "
            "again with --download"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


class IdxSet(ReleasedSet):
    """Grey images and labels in IDX files.

    folder: below the data folder.
    pattern: of a file's name, with {part} and {kind}.
    part_names: how the files name parts.
    md5: of the unpacked files by name; files without one count as the release only if `--download`
    unpacked them from the released archive.
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
        content = unpacked(path, dimensions)
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
        stored = path if path.is_file() else zipped
        return array, knows(folder, release_key(md5_of(stored)))
