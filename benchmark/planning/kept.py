"""Small JSON files in the user's cache folder; each of them can be deleted at any time.

The folder is `fedrepro` below XDG_CACHE_HOME, else below `~/.cache`. What cannot be written is
worked out anew the next time, and so is what cannot be read.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


def folder() -> Path:
    """Where the files lie."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fedrepro"


def read(name: str) -> Any:
    """What a file holds; None where it is missing or damaged."""
    try:
        return json.loads((folder() / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):
        return None


def write(name: str, content: Any) -> None:
    """Writes a file whole; leaves everything as it is where that fails."""
    with suppress(OSError, RuntimeError):
        where = folder()
        where.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=where, prefix=name, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=1)
            Path(temporary).replace(where / name)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
