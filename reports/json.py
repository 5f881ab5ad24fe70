"""The judged report as JSON: every number that the other formats show."""

from __future__ import annotations

import json
from pathlib import Path

from benchmark.files import write_whole
from benchmark.results import Report, as_plain

SUFFIX = ".json"


def render(report: Report) -> str:
    """The report as indented JSON text."""
    return json.dumps(as_plain(report), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write(report: Report, path: Path) -> None:
    """Writes the report to `path`."""
    write_whole(path, render(report).encode())
