"""Names of files and folders that come from a spec or a command."""

from __future__ import annotations

import os

from fedrepro.benchmark.errors import FedreproError

_LONGEST = 255
"""Bytes."""


def path_segment(name: str) -> str:
    """`name`, if it can be that of one file or folder.

    Raises `FedreproError` for a name that would lead elsewhere, or that no disk takes.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > _LONGEST:
        raise FedreproError(f"{name!r} cannot be the name of a file or folder")
    return name
