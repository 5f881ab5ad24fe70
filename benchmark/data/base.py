"""What a data set is: parts with images and labels, made here or read from files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from torch import Tensor

from fedrepro.benchmark.data.fetch import Archive, fetch
from fedrepro.benchmark.data.folder import read_folder
from fedrepro.benchmark.errors import MissingDataError

Part = Literal["train", "test", "unlabeled"]


@dataclass(frozen=True)
class Stored:
    """One part of a set at its original size.

    images: uint8, n x channels x height x width, possibly a view of a mapped file.
    labels: int64, n, or None.
    is_release: whether every file is known to be the release's.
    source: where the images came from.
    note: what a reader must know.
    files: what was read, if its checksum may be cached by size and date; else empty.
    """

    images: Tensor
    labels: Tensor | None
    is_release: bool
    source: str
    note: str | None = None
    files: tuple[Path, ...] = ()


class DataSet(ABC):
    """A set; its registered name is the name of its module, with hyphens for underscores.

    has_unlabeled: whether the set has unlabelled images of its own; otherwise `unlabeled` means
    the training images without their labels.
    """

    n_classes: ClassVar[int]
    has_unlabeled: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The registered name."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @abstractmethod
    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        """One part; `folder` holds the files of all sets.

        Raises `DataError` if the part is missing or damaged.
        """


class ReleasedSet(DataSet):
    """A set whose release is a number of files under the data folder, in torchvision's layout.

    Where the release is missing, images in `<folder>/<name>/<part>/<class>/` are taken instead
    and said not to be the release.

    archives: what `--download` fetches.
    channels: of an image.
    """

    archives: ClassVar[tuple[Archive, ...]]
    channels: ClassVar[int]

    @abstractmethod
    def files(self, part: Part) -> tuple[str, ...]:
        """The release's files for a part, relative to the data folder."""

    @abstractmethod
    def read_release(self, part: Part, folder: Path) -> Stored:
        """One part of the release; its files are there.

        Raises `DataError` that names a damaged file.
        """

    def present(self, path: Path) -> bool:
        """Whether a file of the release is there."""
        return path.is_file()

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        missing = self._missing(part, folder)
        images = folder / self.name / part
        if missing and download:
            fetch(self.archives, folder)
        elif missing and images.is_dir():
            return self._read_images(part, folder)
        elif missing:
            size = sum(archive.size for archive in self.archives) / 1e6
            raise MissingDataError(
                f"{self.name}: there is neither {missing} nor {self.name}/{part}/<class>/ in "
                f"{folder.absolute()}; name the folder that holds it with --data-dir (or "
                f"FEDREPRO_DATA), or fetch {size:,.0f} MB with --download"
            )
        return self.read_release(part, folder)

    def _missing(self, part: Part, folder: Path) -> str | None:
        return next((f for f in self.files(part) if not self.present(folder / f)), None)

    def _read_images(self, part: Part, folder: Path) -> Stored:
        where = folder / self.name / part
        classes = None if part == "unlabeled" else self.n_classes
        images, labels, cached = read_folder(where, self.channels, classes, folder)
        return Stored(
            images,
            labels,
            is_release=False,
            source=str(where),
            note=f"{self.name} was read from an image folder, not from the release",
            files=cached,
        )


def data_folder(data_dir: Path | None) -> Path:
    """The folder that holds all sets: `data_dir`, else FEDREPRO_DATA, else `data`."""
    return Path(data_dir or os.environ.get("FEDREPRO_DATA") or "data")
