"""The audit as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from reports import audit_layout
from reports.audit_layout import Audited

SUFFIX = ".html"


def write(audited: Audited, path: Path) -> None:
    """Writes the audit to `path`."""
    path.write_text(render(audited), encoding="utf-8")


def render(audited: Audited) -> str:
    """The whole page; everything that comes from a spec is escaped."""
    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("audit.html").render(audited=audited, layout=audit_layout)
