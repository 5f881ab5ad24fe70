"""Files that appear whole or not at all, arrays without pickle, and what a disk refuses."""

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import FedreproError, StoreError

PART = re.compile(r".+\.[0-9a-f]{8}\.part")
"""The name of a file that is being written in a folder of its own."""


def read_whole(path: Path | str) -> bytes | None:
    """The content of a file; None where there is none, `StoreError` if the disk refuses."""
    try:
        with disk(path):
            return Path(path).read_bytes()
    except FileNotFoundError:
        return None


@contextmanager
def disk(place: Path | str) -> Iterator[None]:
    """Makes any `OSError` a `StoreError` but `FileNotFoundError`, which is the caller's affair."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(f"cannot use store {place}: {reason}; finished trials are kept") from error


@contextmanager
def replacing(path: Path, aside: Path | None = None) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` if the block ends well, and vanishes otherwise.

    It is written aside, synced and renamed. A kill leaves the unfinished file there, under a name
    that no other writer takes. Raises `OSError` if the disk refuses.

    `aside`: the folder of unfinished files, on the same disk; None for the file's own folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = f"{path.name}.{token_hex(4)}.part"
    unfinished = path.with_name(f".{name}") if aside is None else aside / name
    unfinished.parent.mkdir(exist_ok=True)
    file = unfinished.open("xb")
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    if os.name == "nt":  # where no folder can be opened
        return
    # The new name is only safe once the folder is.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_whole(path: Path, content: bytes, aside: Path | None = None) -> None:
    """Puts a file in place, or leaves the place as it was, and raises, as `replacing` does."""
    with replacing(path, aside) as file:
        file.write(content)


def write_npz(file: IO[bytes], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes arrays as npz, equal ones as equal bytes; `ValueError` for objects, needing pickle."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, values in arrays.items():
            if values.dtype.hasobject:
                raise ValueError(f"array '{name}' holds objects, which are not stored")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)


def arrays_from(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays in an npz file's content. Raises `StoreError` if it is none, is damaged, or has
    pickles or what is no array. Also if it would unpack to more bytes than it has, as no file that
    is written here does."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(one.file_size for one in archive.infolist())
        if unpacked > len(content):
            raise ValueError(f"its {len(content):,} bytes would unpack to {unpacked:,}")
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            arrays = dict(held)
        if alien := [name for name, value in arrays.items() if not isinstance(value, np.ndarray)]:
            raise ValueError(f"{alien[0]} is no array")
        return arrays
    except Exception as error:  # zipfile and numpy raise a dozen kinds for other content
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
    """The content of a file that holds its own checksum under `sha256`."""
    return canonical({**plain, "sha256": seal_of(plain)}) + b"\n"


def path_segment(name: str) -> str:
    """`name`, if it can be that of one file or folder; `FedreproError` if it leads elsewhere."""
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:  # half of a character, which has no bytes
        length = 0
    if name in (".", "..") or "/" in name or "\0" in name or not 0 < length <= 255:
        raise FedreproError(f"{name!r} cannot be the name of a file or folder")
    return name
