"""Figure panels as inline SVG, the same bytes for the same data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from benchmark.results import Series
from reports import charts, maps
from reports.palette import INK

_DRAWN: Mapping[str, Callable[[Series], str]] = {
    "curves": charts.curves,
    "scatter": charts.scatter,
    "choices": charts.choices,
    "counts": charts.counts,
    "points": maps.svg,
}


def svg(series: Series, name: str = "") -> str:
    """An `<svg>` element named for screen readers; its colours work on light and dark paper.

    name: of the figure's place; equal figures in several places of a page need different ones.
    """
    element = _DRAWN[series.kind](series) if series.kind in _DRAWN else _pictures(series, name)
    label = re.sub(r"[^\w\s.,()=:-]", "", series.title)
    named = f'<svg role="img" aria-label="{label}"'
    return element.replace(INK, "currentColor").replace("<svg", named, 1)


def _pictures(series: Series, name: str) -> str:
    # Matplotlib takes half a second to load, and few reports show pictures.
    from reports import pictures

    return pictures.svg(series, name)
