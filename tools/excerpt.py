"""Makes the excerpt that `data/sets/fashion_excerpt.py` reads from the release of Fashion-MNIST.

`python -m tools.excerpt [FOLDER]`, with the folder of all sets; nothing is drawn at random.
"""

import gzip
import struct
import sys
from pathlib import Path

import torch
from torch import Tensor

from fedrepro.benchmark.data.loading import load
from fedrepro.benchmark.data.sets.fashion_excerpt import FOLDER, IMAGES, LABELS
from fedrepro.benchmark.errors import DataError

_EACH = (("train", 0, 400), ("train", 400, 600), ("test", 0, 200))
"""Part of the release, and which of its images of a class are taken: training, unlabelled, test."""


def excerpt(data_dir: Path | None = None) -> dict[str, bytes]:
    """Content of the two IDX files by name, not yet compressed.
    Raises `DataError` if the release is missing or another one."""
    images, labels = [], []
    for part, first, end in _EACH:
        loaded = load("fashion-mnist", part, data_dir=data_dir)
        if not loaded.is_release or loaded.portion.labels is None:
            raise DataError(f"{loaded.source} is not the release of Fashion-MNIST")
        chosen = _of_each_class(loaded.portion.labels, first, end)
        images.append(loaded.portion.images[chosen].squeeze(1))
        labels.append(loaded.portion.labels[chosen].to(torch.uint8))
    return {IMAGES: _idx(torch.cat(images)), LABELS: _idx(torch.cat(labels))}


def _of_each_class(labels: Tensor, first: int, end: int) -> Tensor:
    """Positions, ascending, of the images `first` to `end` of every class."""
    members = [(labels == c).nonzero().flatten()[first:end] for c in range(int(labels.max()) + 1)]
    return torch.cat(members).sort().values


def _idx(array: Tensor) -> bytes:
    """An IDX file of bytes (see `benchmark/data/formats.py`)."""
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.contiguous().numpy().tobytes()


def main() -> None:
    for name, content in excerpt(Path(sys.argv[1]) if sys.argv[1:] else None).items():
        (FOLDER / name).write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    main()
