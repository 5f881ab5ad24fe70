"""The folder of a store: its names, who may write to it, and what may be removed from it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..errors import StoreError
from .files import disk, read_whole

DESCRIPTION = "store.json"
LOCK = "lock"
UNFINISHED = "unfinished"

RUN = re.compile(r"[0-9a-f]{16}")
"""The folder of a run's trials."""
RECORD = re.compile(r"[0-9a-f]{12}-seed[0-9]+\.json")
_PART = re.compile(
    r"(store\.json|[0-9a-f]{12,16}-seed[0-9]+\.(json|npz|encoder\.npz|checkpoint))"
    r"\.[0-9a-f]{8}\.part"
)
"""A file of the store that is being written."""


def object_in(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None where there is no file or no object in it.

    Raises `StoreError` if the disk refuses.
    """
    content = read_whole(path)
    try:
        found = None if content is None else json.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def refuse_foreign(root: Path) -> None:
    """Raises `StoreError` for a folder that holds something and is no store."""
    with suppress(FileNotFoundError):
        names = {path.name for path in root.iterdir()}
        if names and names.isdisjoint((DESCRIPTION, LOCK)):
            raise StoreError(
                f"{root} holds files and is no store of fedrepro; give an empty folder or another "
                "--store"
            )


@contextmanager
def only_writer(root: Path) -> Iterator[None]:
    """Holds the lock of a store, which is released with the process at the latest.

    Raises `StoreError` if another process holds it, or the disk refuses.
    """
    lock = FileLock(root / LOCK)
    with disk(root):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(
                f"another fedrepro is writing to {root}; wait for it or give another --store"
            ) from None
    try:
        yield
    finally:
        lock.release()


def clear_unfinished(root: Path) -> None:
    """Removes what killed writers left, by names that a store alone gives.

    Raises `OSError` if the disk refuses.
    """
    with suppress(FileNotFoundError):
        for file in (root / UNFINISHED).iterdir():
            if _PART.fullmatch(file.name):
                file.unlink()


def trial_name(run: str, seed: int) -> str:
    """By which a trial's files are called where source does not matter."""
    return f"{run}-seed{seed}"


def checkpoint_of(root: Path, trial: str) -> Path:
    """Where a trial saves itself."""
    return root / "checkpoints" / f"{trial}.checkpoint"


def saved_at(root: Path, trial: str) -> float | None:
    """When a trial saved itself last, in seconds of the disk's clock; None where it has not."""
    try:
        return checkpoint_of(root, trial).stat().st_mtime
    except OSError:
        return None
