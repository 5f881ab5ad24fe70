"""The folder of a store: whether it is one, who may write to it, and what may be removed from it.

A path given by mistake may hold anybody's files. So a store is only begun in a folder that is
empty, files are only removed by names that a store alone gives, and no link is followed to where
somebody else's files lie.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import StoreError
from .files import JSON_BYTES, disk, read_whole

DESCRIPTION = "store.json"
LOCK = "lock"
UNFINISHED = "unfinished"
CHECKPOINTS = "checkpoints"
FOLDERS = ("trials", "errors", "quarantine", CHECKPOINTS, UNFINISHED)

RUN = re.compile(r"[0-9a-f]{16}")
"""The folder of a run's trials."""
RECORD = re.compile(r"[0-9a-f]{12}-seed[0-9]+\.json")
_PART = re.compile(
    r"(store\.json|[0-9a-f]{12,16}-seed[0-9]+\.(json|npz|encoder\.npz|checkpoint))"
    r"\.[0-9a-f]{8}\.part"
)
"""A file of the store that is being written."""
_AGAIN_S = 0.05
"""Between two tries to lock a file that another process keeps."""


def object_in(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None where there is no file or no object in it.

    Raises `StoreError` if the disk refuses, or for what is no file.
    """
    content = read_whole(path, JSON_BYTES)
    try:
        found = None if content is None else json.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def refuse_foreign(root: Path) -> None:
    """Refuses a folder that holds something and is no store, or a store whose folders lead away.

    A store that was only just begun counts as one, and so does one whose description is damaged as
    long as it holds records.

    Raises `StoreError`; nothing is created.
    """
    try:
        entries = list(root.iterdir())
    except FileNotFoundError:
        return
    for name in FOLDERS:
        refuse_link(root / name)
    description = object_in(root / DESCRIPTION)
    if description is not None and isinstance(description.get("schema"), int):
        return
    for path in (root / "trials").glob("*/*.json"):
        if RUN.fullmatch(path.parent.name) and RECORD.fullmatch(path.name):
            return
    if not all(map(_is_begun, entries)):
        raise StoreError(
            f"{root} holds files and is no store of fedrepro; give an empty folder or another "
            "--store"
        )


def refuse_link(folder: Path) -> None:
    """Raises `StoreError` if one of the store's own folders is a link, or no folder at all."""
    with suppress(FileNotFoundError):
        mode = folder.lstat().st_mode
        if not stat.S_ISDIR(mode):
            what = "a symbolic link" if stat.S_ISLNK(mode) else "no folder"
            raise StoreError(f"{folder} is {what}; a store's own folders must be folders")


def open_lock(path: Path) -> int:
    """The descriptor of a file to lock, made where there is none.

    Neither waits for a pipe's other end nor creates a file behind a link.

    Raises `OSError` if the disk refuses.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, 0o666)


@contextmanager
def only_writer(root: Path) -> Iterator[None]:
    """Holds the lock of a store, which is released with the process at the latest.

    Raises `StoreError` if another process holds it, the disk refuses, or no file can be the lock.
    """
    with file_to_lock(root / LOCK) as lock:
        if not locked(lock, root):
            raise StoreError(
                f"another fedrepro is writing to {root}; wait for it or give another --store"
            )
        yield


@contextmanager
def file_to_lock(path: Path) -> Iterator[int]:
    """The descriptor of a file for `locked`; what it holds ends with the block.

    Raises `StoreError` if the disk refuses, or no file can be the lock.
    """
    with disk(path):
        lock = open_lock(path)
    try:
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            raise StoreError(f"{path} is no file; remove it or give another --store")
        yield lock
    finally:
        os.close(lock)


def locked(lock: int, what: Path, patience_s: float = 0.0) -> bool:
    """Locks a file unless another process keeps it for so long; whether that was done.

    Raises `StoreError` that names `what` if the disk refuses.
    """
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_AGAIN_S)
        except OSError as error:
            raise StoreError(f"cannot lock {what}: {error.strerror}") from error
        else:
            return True


def clear_unfinished(root: Path, pattern: re.Pattern[str] = _PART) -> None:
    """Removes what a killed writer of files with such names left; only their one writer may.

    Raises `OSError` if the disk refuses.
    """
    with suppress(FileNotFoundError):
        for file in (root / UNFINISHED).iterdir():
            if _is_part(file, pattern):
                file.unlink()


def trial_name(run: str, seed: int) -> str:
    """By which a trial's files are called where source does not matter."""
    return f"{run}-seed{seed}"


def checkpoint_of(root: Path, trial: str) -> Path:
    """Where a trial saves itself."""
    return root / CHECKPOINTS / f"{trial}.checkpoint"


def checkpoint_lock(root: Path, trial: str) -> Path:
    """The file that the process holds which trains it."""
    return root / CHECKPOINTS / f"{trial}.lock"


def saved_at(root: Path, trial: str) -> float | None:
    """When a trial saved itself last, in seconds of the disk's clock; None where it has not."""
    try:
        return checkpoint_of(root, trial).lstat().st_mtime
    except OSError:
        return None


def forget_checkpoint(root: Path, trial: str) -> None:
    """Removes where a trial would have gone on, now that its record is written.

    Raises `OSError` if the disk refuses, `StoreError` if the folder is none of the store's own.
    """
    refuse_link(root / CHECKPOINTS)
    for path in (checkpoint_of(root, trial), checkpoint_lock(root, trial)):
        path.unlink(missing_ok=True)


def _is_begun(path: Path) -> bool:
    """Whether this may lie in a store of which nothing is finished yet."""
    if path.name == LOCK:
        status = path.lstat()
        return stat.S_ISREG(status.st_mode) and status.st_size == 0
    if path.name not in FOLDERS:
        return False
    return all(path.name == UNFINISHED and _is_part(file) for file in path.iterdir())


def _is_part(file: Path, pattern: re.Pattern[str] = _PART) -> bool:
    return pattern.fullmatch(file.name) is not None and stat.S_ISREG(file.lstat().st_mode)
