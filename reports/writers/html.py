"""The report as one self-contained HTML file: no font, no picture, no script from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from markupsafe import Markup

from benchmark.files import write_whole
from benchmark.results import Report, Series
from reports import figures, layout, overview, strips
from reports.pages import page

FILE = "report.html"


def write(reports: Sequence[Report], path: Path) -> None:
    """Writes the report on one paper or several to `path`."""
    write_whole(path, render(reports).encode())


def render(reports: Sequence[Report]) -> str:
    """The whole page; everything that comes from a spec or a record is escaped."""
    filters: dict[str, Callable[..., object]] = {
        "number": layout.number,
        "span": layout.span,
        "p_value": layout.p_value,
        "css": _css_class,
        "plural": _plural,
        "panel": _panel,
    }
    text = page(
        "report.html", filters, reports=reports, layout=layout, overview=overview, strips=strips
    )
    return re.sub(r"\n\s*\n+", "\n", text)


def _css_class(word: str) -> str:
    """A verdict or claim word as a class name: 'NOT RUN' → 'not-run'."""
    return "".join(c if c.isalnum() else "-" for c in word.lower()).strip("-")


def _plural(count: int, noun: str) -> str:
    """'1 cell', '3 cells'."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _panel(series: Series, name: str) -> Markup:
    """A figure panel as inline SVG; matplotlib escapes the text in it."""
    return Markup(figures.svg(series, name))
