"""How often claims were looked at: `looks.json` in a store, sealed and replaced as a whole.

A report may be made while another process trains, so this file has a lock of its own. It guards
who looks often without thinking of it, not against fraud: whoever removes it begins anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from ..errors import StoreError
from ..stats.looks import Looks
from .files import (
    JSON_BYTES,
    disk,
    read_whole,
    seal_of,
    sealed,
    write_whole,
)
from .folder import (
    LOOKS,
    LOOKS_LOCK,
    UNFINISHED,
    clear_unfinished,
    file_to_lock,
    locked,
    refuse_foreign,
)
from .record import check_schema

SCHEMA = 1
_CLAIM = re.compile(r"[0-9a-f]{16}")
"""What tells the test of one claim on one set of runs from others."""
_PART = re.compile(r"looks\.json\.[0-9a-f]{8}\.part")
_PATIENCE_S = 10.0
"""How long another writer of this file, which takes milliseconds, is waited for."""


class LookBook:
    """The looks at the claims that were judged from one store.

    warn: gets one sentence when the file is damaged.
    """

    def __init__(self, root: Path, warn: Callable[[str], None] = lambda sentence: None) -> None:
        self.path, self.warn = root / LOOKS, warn

    def read(self) -> dict[str, Looks]:
        """By claim, with how many trials it was judged; empty where nothing was noted.

        A damaged file counts as none.

        Raises `StoreError` if the disk refuses, or for what is no file or of a newer version.
        """
        content = read_whole(self.path, JSON_BYTES)
        if content is None:
            return {}
        try:
            return _parsed(content)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.warn(f"{self.path.name} is damaged; how often claims were looked at is not known")
            return {}

    def note(self, found: Mapping[str, Looks]) -> None:
        """Adds looks to those that are noted; what was declared first stays.

        Raises `StoreError` if the file cannot be written; it is then as it was.
        """
        if not found:
            return
        root = self.path.parent
        with disk(root):
            refuse_foreign(root)
        with _alone(root / LOOKS_LOCK):
            known = self.read()
            merged = {**known, **{id: _merged(known.get(id), new) for id, new in found.items()}}
            if merged == known:
                return
            with disk(root):
                clear_unfinished(root, _PART)
                write_whole(self.path, _written(merged), root / UNFINISHED)


def _merged(known: Looks | None, new: Looks) -> Looks:
    if known is None:
        return new
    return Looks(tuple(sorted({*known.counts, *new.counts})), known.declared)


def _parsed(content: bytes) -> dict[str, Looks]:
    plain = json.loads(content.decode())
    check_schema({"schema": plain["schema"]})
    seal = plain.pop("sha256")
    if seal != seal_of(plain):
        raise ValueError("the content is not what was written")
    found = {}
    for id, one in plain["looks"].items():
        counts, declared = tuple(one["counts"]), one["declared"]
        whole = all(type(n) is int and n > 0 for n in (*counts, declared))
        rising = all(earlier < later for earlier, later in pairwise(counts))
        if not _CLAIM.fullmatch(id) or not counts or not whole or not rising:
            raise ValueError(f"{id} has no looks")
        found[id] = Looks(counts, declared)
    return found


def _written(looks: Mapping[str, Looks]) -> bytes:
    plain = {
        "schema": SCHEMA,
        "looks": {
            id: {"counts": list(one.counts), "declared": one.declared} for id, one in looks.items()
        },
    }
    return sealed(plain)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Holds the lock of the file.

    Raises `StoreError` if another process keeps it, the disk refuses, or no file can be the lock.
    """
    with file_to_lock(path) as lock:
        if not locked(lock, path, _PATIENCE_S):
            raise StoreError(f"another process keeps {path}")
        yield
