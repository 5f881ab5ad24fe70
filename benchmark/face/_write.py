"""Reports to files, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedrepro.benchmark.commands._judged import write
from fedrepro.benchmark.results import Report


def write_report(reports: Sequence[Report], folder: Path | str) -> None:
    """Writes judged papers as one report, in every format of docs/reports.md, to `folder`.

    Raises `FedreproError` if the folder cannot be written.
    """
    write(reports, Path(folder))
