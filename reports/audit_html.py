"""The audit as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from benchmark.files import write_whole
from reports import audit_layout
from reports.audit_layout import Audited
from reports.pages import page

SUFFIX = ".html"


def write(audited: Audited, path: Path) -> None:
    """Writes the audit to `path`."""
    write_whole(path, render(audited).encode())


def render(audited: Audited) -> str:
    """The whole page; everything that comes from a spec is escaped."""
    return page("audit.html").render(audited=audited, layout=audit_layout)
