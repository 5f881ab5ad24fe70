"""The audit as one self-contained HTML file."""

from __future__ import annotations

from fedrepro.reports.audit import layout
from fedrepro.reports.audit.layout import Audited
from fedrepro.reports.pages import page

FILE = "audit.html"


def render(audited: Audited) -> str:
    """The whole page; everything that comes from a spec is escaped."""
    return page("audit.html").render(audited=audited, layout=layout)
