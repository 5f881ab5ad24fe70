"""Files of results of every kind that is read, by their ending."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..spec.model import Paper
from .mapping import read_map
from .rows import Row, read_rows


def read_files(files: Sequence[Path], paper: Paper) -> list[Row]:
    """The results in all files: TOML maps of exports, JSON lines, and else CSV.

    Raises `FedreproError` for a file that cannot be read.
    """
    return [
        row
        for file in files
        for row in (
            read_map(file, paper) if file.suffix.lower() == ".toml" else read_rows(file, paper.id)
        )
    ]
