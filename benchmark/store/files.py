"""Files that are read and appear whole or not at all, arrays without pickle, a disk's refusals."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import lzma
import os
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FedreproError, StoreError

# What zipfile and numpy raise for content that is not what they wrote.
UNREADABLE = (
    ValueError, TypeError, KeyError, EOFError, OverflowError, SyntaxError, MemoryError, OSError,
    struct.error, tokenize.TokenError, NotImplementedError, RuntimeError, RecursionError,
    zlib.error, lzma.LZMAError, zipfile.BadZipFile,
)  # fmt: skip


JSON_BYTES = 1 << 28
"""Of a file of JSON in a store: a record with a thousand rounds of ten metrics has a thousandth."""
_MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
"""Bytes of this machine's memory; a file with holes can say that it has any size."""


class NoFileError(StoreError):
    """A folder, a pipe, a device, a loop of links or a huge file in a file's place."""


def read_whole(path: Path | str, most: int = _MEMORY) -> bytes | None:
    """The content of a file; None where there is none.

    most: bytes, beyond which it cannot be what is looked for.

    Raises `NoFileError` for what is no file, without waiting for the other end of a pipe, and for
    a larger one, and `StoreError` if the disk refuses.
    """
    try:
        with FileIO(path, opener=_without_waiting) as file:  # unbuffered: it is read whole
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                if status.st_size > most:
                    raise NoFileError(f"{path} is larger than {most:,} bytes")
                return file.readall()
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise refused(path, error) from error
    raise NoFileError(f"{path} is no file")


_NO_FILE = (errno.EISDIR, errno.ELOOP, errno.ENXIO)
"""What the disk says of a folder, a loop of links and a socket."""


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


@contextmanager
def disk(place: Path | str) -> Iterator[None]:
    """Turns what the disk refuses into one clear line; a missing file is the caller's affair.

    Raises `StoreError` for any other `OSError`, and passes `FileNotFoundError` on.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(place, error) from error


def refused(place: Path | str, error: OSError) -> StoreError:
    """What the disk refuses, in one clear line."""
    reason = (error.strerror or str(error)).lower()
    return StoreError(f"cannot use store {place}: {reason}; finished trials are kept")


def write_whole(path: Path, content: bytes | Iterable[bytes], aside: Path | None = None) -> None:
    """Puts a file in place, or leaves the place as it was: written aside, synced, renamed.

    content: whole, or in parts where the whole would take much memory. aside: the folder of
    unfinished files, on the same disk; None for the file's own folder. A kill leaves the unfinished
    file there, under a name that no other writer takes and that was never a link.

    Raises `OSError` if the disk refuses, or a pipe, a device or a socket lies in the place.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _refuse_special(path)
    name = f"{path.name}.{token_hex(4)}.part"
    unfinished = path.with_name(f".{name}") if aside is None else aside / name
    unfinished.parent.mkdir(exist_ok=True)
    file = unfinished.open("xb")
    try:
        with file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    # The new name is only safe once the folder is.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _refuse_special(path: Path) -> None:
    """Raises `OSError` for what a rename would take away from others: root's /dev/null."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
        raise FileExistsError(errno.EEXIST, "is no file and is not replaced", str(path))


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as the content of an npz file; equal arrays give equal bytes.

    Raises `ValueError` for an array of objects, which only pickle could read back.
    """
    for name, values in arrays.items():
        if values.dtype.hasobject:
            raise ValueError(f"array '{name}' holds objects, which are not stored")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(values), allow_pickle=False)
    return buffer.getvalue()


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file; pickles are refused.

    Raises `StoreError` if it cannot be read.
    """
    try:
        content = read_whole(path)
        if content is None:
            raise StoreError("there is none")
        return arrays_from(content)
    except StoreError as error:
        raise StoreError(f"cannot read {path}: {error}") from error


def arrays_from(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays in the content of an npz file; pickles are refused.

    Raises `StoreError` if there are none.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
            }
    except UNREADABLE as error:
        raise StoreError(f"not an npz file: {error}") from error


def sha256_of(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(plain: Any) -> bytes:
    """JSON whose bytes depend on the content alone. `ValueError`: a number is not finite."""
    return _CANONICAL.encode(plain).encode()


def seal_of(plain: Mapping[str, Any]) -> str:
    """The SHA-256 that tells a changed content, however its JSON is laid out."""
    return sha256_of(canonical(plain))


def sealed(plain: Mapping[str, Any]) -> bytes:
    """The content of a file that holds its own seal under `sha256`."""
    return canonical({**plain, "sha256": seal_of(plain)}) + b"\n"


def path_segment(name: str) -> str:
    """`name`, which a spec or a command gives, if it can be that of one file or folder.

    Raises `FedreproError` for a name that would lead elsewhere, or that no disk takes.
    """
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:  # half of a character, which has no bytes
        length = 0
    if name in (".", "..") or "/" in name or "\0" in name or not 0 < length <= 255:
        raise FedreproError(f"{name!r} cannot be the name of a file or folder")
    return name
