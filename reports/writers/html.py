"""The report as one self-contained HTML file: no font, no picture, no script from elsewhere.

Of many papers each has a page of its own in `papers/`, and the file is their overview.
"""

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


ON_ONE_PAGE = 12
"""Papers; five make a page of several MB, of which a browser holds a dozen with ease."""


def write(reports: Sequence[Report], path: Path) -> None:
    """Writes the report on one paper or several to `path`, on many to pages beside it."""
    if len(reports) > ON_ONE_PAGE:
        for report in reports:
            own = path.parent / "papers" / f"{report.paper}.html"
            write_whole(own, render([report], overview_page=f"../{path.name}").encode())
    write_whole(path, render(reports).encode())


def render(reports: Sequence[Report], overview_page: str | None = None) -> str:
    """A whole page; everything that comes from a spec or a record is escaped.

    overview_page: that of all papers, where this is the page of one of them.
    """
    filters: dict[str, Callable[..., object]] = {
        "number": layout.number,
        "span": layout.span,
        "p_value": layout.p_value,
        "css": _css_class,
        "plural": _plural,
        "panel": _panel,
    }
    text = page(
        "report.html",
        filters,
        reports=reports,
        apart=len(reports) > ON_ONE_PAGE,
        overview_page=overview_page,
        layout=layout,
        overview=overview,
        strips=strips,
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
