"""What a data set is: parts with images and labels, made here or read from files."""

import os
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from torch import Tensor

from ..errors import DataError, MissingDataError
from .fetch import Archive, fetch

Part = Literal["train", "test", "unlabeled"]
reads = ["sets/releases.toml"]
_RELEASES = tomllib.loads((Path(__file__).parent / "sets" / "releases.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Stored:
    """One part of a set at its original size.

    `images`: uint8, n x channels x height x width, possibly a view of a mapped file. `labels`:
    int64, n, or None. `is_release`: whether every file is known to be the release's. `source`:
    where the images came from. `note`: what a reader must know. `files`: what is mapped, not held
    in memory."""

    images: Tensor
    labels: Tensor | None = None
    is_release: bool = False
    source: str = "made by its own code"
    note: str | None = None
    files: tuple[Path, ...] = ()


class DataSet(ABC):
    """A set, or one of a family of sets.

    `name`: as it is registered. `n_classes`: 0 where the set has unlabelled images alone.
    `has_unlabeled`: whether it has unlabelled images of its own; otherwise `unlabeled` means the
    training images without their labels."""

    n_classes: int
    has_unlabeled: ClassVar[bool] = False

    def __init__(self, name: str = "") -> None:
        self.name = name

    @abstractmethod
    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        """One part; `folder` holds the files of all sets. Labels of `unlabeled` are not used.

        Raises `DataError` if the part is missing or damaged."""

    def how_to_get(self) -> str:
        """Where its files come from, in a few words; empty if it comes with what is installed."""
        return ""


class ReleasedSet(DataSet):
    """A set whose release is a number of files under the data folder, in torchvision's layout.

    Its entry in `releases.toml` has the attributes.

    `folder`: of the files, below the data folder. `parts`: the files' names. `md5`: of the files by
    name. `archives`: what `--download` fetches."""

    archives: ClassVar[tuple[Archive, ...]]
    folder: ClassVar[str]
    parts: ClassVar[Mapping[str, tuple[str, ...]]]
    md5: ClassVar[Mapping[str, str]]

    def __init_subclass__(cls) -> None:
        if held := _RELEASES.get(cls.__module__.rpartition(".")[2]):
            cls.folder, cls.md5 = held["folder"], held["md5"]
            cls.parts = {part: tuple(names) for part, names in held["parts"].items()}
            cls.archives = tuple(Archive(**one) for one in held["archives"])

    def files(self, part: Part) -> tuple[str, ...]:
        """The release's files for a part, relative to the data folder."""
        return tuple(f"{self.folder}/{name}" for name in self.parts[part])

    def how_to_get(self) -> str:
        size = sum(archive.size for archive in self.archives)
        return f"--download fetches {size / 1e6:,.0f} MB"

    @abstractmethod
    def read_release(self, part: Part, place: Path) -> Stored:
        """One part of the release, whose files are in `place`; raises as `read`."""

    def present(self, path: Path) -> bool:
        return path.is_file()

    def check(self, path: Path, found: str) -> None:
        """Raises `DataError` unless `found` is the MD5 of the release's file."""
        if found != self.md5[path.name]:
            raise DataError(
                f"{path} is not the release's file (MD5 of its content {found}, not "
                f"{self.md5[path.name]}); delete it and fetch it again with --download"
            )

    def read(self, part: Part, folder: Path, download: bool) -> Stored:
        missing = next((f for f in self.files(part) if not self.present(folder / f)), None)
        if missing and download:
            fetch(self.archives, folder)
        elif missing:
            raise MissingDataError(
                f"{self.name}: there is no {missing} in {folder.absolute()}; name the folder that "
                f"holds it with --data-dir (or FEDREPRO_DATA), or get it: {self.how_to_get()}"
            )
        return self.read_release(part, folder / self.folder)


def data_folder(data_dir: Path | None) -> Path:
    """The folder that holds all sets: `data_dir`, else FEDREPRO_DATA, else `data`."""
    return Path(data_dir or os.environ.get("FEDREPRO_DATA") or "data")
