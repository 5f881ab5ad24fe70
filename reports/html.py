"""The report as one self-contained HTML file: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from markupsafe import Markup

from benchmark.files import write_whole
from benchmark.results import CellResult, Report, Series
from reports import figures, layout
from reports.pages import page

SUFFIX = ".html"


def write(report: Report, path: Path) -> None:
    """Writes the report to `path`."""
    write_whole(path, render(report).encode())


def render(report: Report) -> str:
    """The whole page; everything that comes from a spec or a record is escaped."""
    filters: dict[str, Callable[..., object]] = {
        "number": layout.number,
        "span": layout.span,
        "p_value": layout.p_value,
        "css": _css_class,
        "dots": _dots,
        "panel": _panel,
    }
    return page("report.html", filters, report=report, layout=layout)


def _css_class(word: str) -> str:
    """A verdict or claim word as a class name: 'NOT RUN' → 'not-run'."""
    return "".join(c if c.isalnum() else "-" for c in word.lower()).strip("-")


def _panel(series: Series) -> Markup:
    """A figure panel as inline SVG; matplotlib escapes the text in it."""
    return Markup(figures.svg(series))


def _dots(cell: CellResult) -> Markup:
    """The trials as dots, their 95 % interval as a bar, the published value as a tick."""
    values = [value for value in cell.trials if value is not None]
    if len(values) < 2:
        return Markup("")
    try:
        target = [float(cell.published)]
    except ValueError:
        target = []
    low_bar, high_bar = cell.interval or (min(values), max(values))
    everything = [*values, *target, low_bar, high_bar]
    low, high = min(everything), max(everything)
    width = 120.0

    def x(value: float) -> str:
        return f"{6 + (value - low) / ((high - low) or 1.0) * (width - 12):.1f}"

    shapes = [
        f'<line class="bar" x1="{x(low_bar)}" x2="{x(high_bar)}" y1="8" y2="8"/>',
        *(f'<circle cx="{x(value)}" cy="8" r="2.5"/>' for value in values),
        *(f'<line class="target" x1="{x(t)}" x2="{x(t)}" y1="1" y2="15"/>' for t in target),
    ]
    return Markup(
        f'<svg class="dots" viewBox="0 0 {width:.0f} 16" aria-hidden="true">{"".join(shapes)}</svg>'
    )
