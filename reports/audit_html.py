"""The audit as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from fedrepro.benchmark.store.files import write_whole
from fedrepro.reports import audit_layout
from fedrepro.reports.audit_layout import Audited
from fedrepro.reports.pages import page

SUFFIX = ".html"


def write(audited: Audited, path: Path) -> None:
    """Writes the audit to `path`."""
    write_whole(path, render(audited).encode())


def render(audited: Audited) -> str:
    """The whole page; everything that comes from a spec is escaped."""
    return page("audit.html").render(audited=audited, layout=audit_layout)
