"""A cache of what is slow to work out, in `<data folder>/.fedrepro-cache`.

Everything in it can be deleted at any time. Where it cannot be written, nothing is cached.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from ..store.files import write_whole

NAME = ".fedrepro-cache"


def key_of(*parts: object) -> str:
    """A file name that stands for `parts`."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]


def stamp(path: Path) -> tuple[str, int, int]:
    """Path, size and time of change of a file: another stamp means other content."""
    found = path.stat()
    return str(path.resolve()), found.st_size, found.st_mtime_ns


def remembered(folder: Path, key: str, compute: Callable[[], str]) -> str:
    """The short text under `key` in the cache of `folder`; `compute()` makes it the first time."""
    path = _fact(folder, key)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = path.read_text("ascii")
        if text.endswith("\n"):
            return text[:-1]
    fact = compute()
    with contextlib.suppress(OSError):
        write_whole(path, f"{fact}\n".encode("ascii"))
    return fact


def knows(folder: Path, key: str) -> bool:
    """Whether the cache of `folder` holds a text under `key`."""
    return _fact(folder, key).is_file()


def _fact(folder: Path, key: str) -> Path:
    return folder / NAME / "facts" / key


def md5_of(path: Path) -> str:
    """MD5 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def remembered_md5(path: Path, folder: Path) -> str:
    """MD5 of a file, worked out once for each stamp; not for files that could run code."""
    return remembered(folder, key_of("md5", *stamp(path)), lambda: md5_of(path))
