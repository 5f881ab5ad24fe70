"""A cache of what is slow to work out, in `<data folder>/.fedrepro-cache`.

Everything in it can be deleted at any time. Where it cannot be written, nothing is cached.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

NAME = ".fedrepro-cache"


def key_of(*parts: object) -> str:
    """A file name that stands for `parts`."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]


def stamp(path: Path) -> tuple[str, int, int]:
    """Path, size and time of change of a file: another stamp means other content."""
    found = path.stat()
    return str(path.resolve()), found.st_size, found.st_mtime_ns


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` if the block ends well, and vanishes otherwise.

    Raises `OSError` if the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remembered(folder: Path, key: str, compute: Callable[[], str]) -> str:
    """The short text under `key` in the cache of `folder`; `compute()` makes it the first time."""
    path = folder / NAME / "facts" / key
    with contextlib.suppress(OSError, UnicodeDecodeError):
        # Nothing else: who opens a named pipe waits for ever.
        text = path.read_text("ascii") if path.is_file() else ""
        if text.endswith("\n"):
            return text[:-1]
    fact = compute()
    with contextlib.suppress(OSError), replacing(path) as file:
        file.write(f"{fact}\n".encode("ascii"))
    return fact


def knows(folder: Path, key: str) -> bool:
    """Whether the cache of `folder` holds a text under `key`."""
    return (folder / NAME / "facts" / key).is_file()


def md5_of(path: Path) -> str:
    """MD5 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def remembered_md5(path: Path, folder: Path) -> str:
    """MD5 of a file, worked out once for each stamp; not for files that could run code."""
    return remembered(folder, key_of("md5", *stamp(path)), lambda: md5_of(path))
