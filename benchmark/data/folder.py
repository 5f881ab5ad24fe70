"""Image folders: `<class>/<image>` under a part; decoded once, then read from the cache."""

from __future__ import annotations

import contextlib
import os
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import DataError
from .cache import NAME, key_of, replacing
from .pixels import FORMATS, decode

SUFFIXES = tuple(FORMATS)
_DECODED = 2
"""Raised when images are decoded to other pixels, so that cached arrays are made again."""


def read_folder(
    where: Path, channels: int, n_classes: int | None, folder: Path
) -> tuple[Tensor, Tensor | None, tuple[Path, ...]]:
    """Images (uint8, n x channels x height x width), labels, and the file that keeps them.

    Classes are numbered in the order of their folders' names, as numbers where all names are.
    With `n_classes` None all images below `where` are taken, without labels. Decoded arrays are
    cached under the names, sizes and times of all images; a damaged .npz is made again.

    Raises `DataError` for a wrong number of classes, images of different sizes, unreadable images
    (`benchmark.data.pixels`) and a folder that cannot be listed.
    """
    try:
        listed = _listed(where, n_classes)
    except OSError as error:
        raise DataError(f"{where} cannot be read ({error})") from error
    if not listed:
        raise DataError(f"{where} holds no images ({', '.join(SUFFIXES)})")
    title = f"{where.parent.name}-{where.name}-{key_of(where.resolve(), channels, n_classes)[:8]}"
    cached = folder / NAME / f"{title}-{key_of(_DECODED, *listed)}.npz"
    labels = None
    if n_classes is not None:
        labels = torch.tensor([file.label for file in listed], dtype=torch.int64)
    images = _cached(cached, len(listed), channels)
    if images is None:
        images = _decoded([file.path for file in listed], channels)
        _keep(images, cached, title)
    return torch.from_numpy(images), labels, (cached,) if cached.is_file() else ()


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    label: int
    size: int
    changed: int


def _listed(where: Path, n_classes: int | None) -> list[_File]:
    """All images in the order in which they are numbered."""
    if n_classes is None:
        folders = [(folder, 0) for folder in sorted(found for found, _, _ in os.walk(where))]
    else:
        classes = [p for p in where.iterdir() if p.is_dir() and not p.name.startswith(".")]
        if len(classes) != n_classes:
            raise DataError(f"{where} holds {len(classes)} class folders, the set has {n_classes}")
        numbers = all(p.name.isdecimal() for p in classes)
        classes.sort(key=lambda p: (int(p.name) if numbers else 0, p.name))
        folders = [(str(p), label) for label, p in enumerate(classes)]
    return [file for folder, label in folders for file in _images_in(folder, label)]


def _images_in(folder: str, label: int) -> list[_File]:
    # Not pathlib: a set has 50,000 images, and this runs whenever it is loaded.
    with os.scandir(folder) as entries:
        images = [e for e in entries if e.name.lower().endswith(SUFFIXES) and e.name[0] != "."]
        found = [(entry.path, entry.stat()) for entry in images]
    for path, status in found:
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is named as an image, but is not a file")
    return sorted(
        (_File(path, label, status.st_size, status.st_mtime_ns) for path, status in found),
        key=lambda file: file.path,
    )


def _decoded(paths: list[str], channels: int) -> NDArray[np.uint8]:
    first = decode(paths[0], channels)
    try:
        images = np.empty((len(paths), *first.shape), dtype=np.uint8)
    except MemoryError as error:
        raise DataError(
            f"{len(paths):,} images of {first.shape[2]}x{first.shape[1]} pixels, as {paths[0]} is, "
            "do not fit into memory"
        ) from error
    for i, path in enumerate(paths):
        pixels = decode(path, channels) if i else first
        if pixels.shape != images.shape[1:]:
            raise DataError(
                f"{path} has {pixels.shape[2]}x{pixels.shape[1]} pixels and {paths[0]} has "
                f"{images.shape[3]}x{images.shape[2]}; bring all images to one size"
            )
        images[i] = pixels
    return images


def _cached(path: Path, n: int, channels: int) -> NDArray[np.uint8] | None:
    if not path.is_file():
        return None
    # Whatever a damaged file makes zipfile and numpy raise: it is made again.
    with contextlib.suppress(Exception), zipfile.ZipFile(path) as kept:
        with kept.open("images.npy") as file:
            images: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            # The checksum is compared at the end of the file, and no sooner.
            whole = not file.read(1)
        right = images.dtype == np.uint8 and images.ndim == 4
        if whole and right and images.shape[:2] == (n, channels):
            return images
    return None


def _keep(images: NDArray[np.uint8], path: Path, title: str) -> None:
    with contextlib.suppress(OSError):
        with replacing(path) as file:
            np.savez(file, images=images)
        for old in path.parent.glob(f"{title}-*.npz"):
            if old != path:
                old.unlink(missing_ok=True)
