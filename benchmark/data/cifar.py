"""What CIFAR-10 and CIFAR-100 have in common: pickled batches, read by torchvision.

A pickle may run code when it is read, so every file is held against the release's checksum first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch

from fedrepro.benchmark.data._torchvision import ensure_torchvision
from fedrepro.benchmark.data.base import Part, ReleasedSet, Stored
from fedrepro.benchmark.data.cache import file_md5
from fedrepro.benchmark.errors import DataError


class CifarSet(ReleasedSet):
    """Colour images of 32x32.

    folder: below the data folder. batches: its files by part. reader: torchvision's class.
    """

    channels = 3
    folder: ClassVar[str]
    batches: ClassVar[Mapping[str, tuple[str, ...]]]
    meta: ClassVar[str]
    reader: ClassVar[str]

    def files(self, part: Part) -> tuple[str, ...]:
        # torchvision opens a set only if both parts are there.
        names = (*self.batches["train"], *self.batches["test"], self.meta)
        return tuple(f"{self.folder}/{name}" for name in names)

    def read_release(self, part: Part, folder: Path) -> Stored:
        ensure_torchvision()
        from torchvision import datasets

        reader = getattr(datasets, self.reader)
        known = [*reader.train_list, *reader.test_list, [self.meta, reader.meta["md5"]]]
        for name, md5 in known:
            path = folder / self.folder / name
            found = file_md5(path, folder)
            if found != md5:
                raise DataError(
                    f"{path} is not the release's file (MD5 {found}, not {md5}); delete it and "
                    "fetch it again with --download"
                )
        held: Any = reader(str(folder), train=part == "train", download=False)
        return Stored(
            torch.from_numpy(held.data).permute(0, 3, 1, 2),
            torch.tensor(held.targets, dtype=torch.int64),
            is_release=True,
            source=str(folder / self.folder),
        )
