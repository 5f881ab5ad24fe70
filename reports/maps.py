"""A map of images as SVG, written by hand: a path a class, for maps of thousands of points.

Matplotlib gives each point an element of its own, which made maps a fifth of a report's bytes and
most of the time that it took to write.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from markupsafe import escape

from benchmark.results import Series
from reports.palette import INK, PALETTE, TITLE

WIDTH, HEIGHT = 389, 302
_LEFT, _RIGHT, _BOTTOM = 16, 300, 286
_LINE = 13
_EDGE = 6
_DOT = 3.2


def svg(series: Series) -> str:
    """An `<svg>` element; only nearness means anything, so both axes have one scale, no ticks."""
    titles = textwrap.wrap(series.title, TITLE)
    top = _LINE * len(titles) + 10
    points = [pair for [pair] in series.lines.values()]
    place = _Fitted(points, top)
    parts = [_text(2, _LINE * (i + 1), line, 10) for i, line in enumerate(titles)]
    parts.append(f'<path d="M{_LEFT} {top}V{_BOTTOM}H{_RIGHT}" stroke="{INK}" fill="none"/>')
    parts.append(_text((_LEFT + _RIGHT) / 2, HEIGHT - 3, series.x_label, 9, 'text-anchor="middle"'))
    turned = f'text-anchor="middle" transform="rotate(-90 10 {(top + _BOTTOM) / 2:g})"'
    parts.append(_text(10, (top + _BOTTOM) / 2, series.y_label, 9, turned))
    for i, (label, pair) in enumerate(zip(series.lines, points, strict=True)):
        colour, y = PALETTE[i % len(PALETTE)], top + 14 + _LINE * i
        parts.append(_dots(place.path(pair), colour, _DOT))
        parts.append(_dots(f"M{_RIGHT + 14} {y - 3}h0", colour, 2 * _DOT))
        parts.append(_text(_RIGHT + 24, y, label, 8))
    height = max(HEIGHT, top + 14 + _LINE * len(points))
    return f'<svg viewBox="0 0 {WIDTH} {height}">{"".join(parts)}</svg>'


class _Fitted:
    """Puts points into the frame, with one scale for both axes and their middle in its middle."""

    def __init__(self, points: Sequence[tuple[list[float], list[float]]], top: float) -> None:
        spans = []
        for axis in (0, 1):
            values = [value for pair in points for value in pair[axis]] or [0.0]
            spans.append((min(values), max(values)))
        room = (_RIGHT - _LEFT - 2 * _EDGE, _BOTTOM - top - 2 * _EDGE)
        self.scale = min(
            size / ((high - low) or 1.0) for (low, high), size in zip(spans, room, strict=True)
        )
        self.middle = [(low + high) / 2 for low, high in spans]
        self.centre = ((_LEFT + _RIGHT) / 2, (top + _BOTTOM) / 2)

    def path(self, pair: tuple[list[float], list[float]]) -> str:
        """A move and a line of no length for each point, which a round cap makes a dot."""
        return "".join(
            f"M{self.centre[0] + (x - self.middle[0]) * self.scale:.1f} "
            f"{self.centre[1] - (y - self.middle[1]) * self.scale:.1f}h0"
            for x, y in zip(*pair, strict=True)
        )


def _dots(path: str, colour: str, width: float) -> str:
    # As a style, because Matplotlib's figures on the same page set the cap of every element.
    style = f"fill:none;stroke:{colour};stroke-width:{width:g};stroke-linecap:round"
    return f'<path d="{path}" style="{style}"/>'


def _text(x: float, y: float, text: str, size: int, more: str = "") -> str:
    if not text:
        return ""
    place = f'x="{x:g}" y="{y:g}" {more}'.rstrip()
    return f'<text {place} font-size="{size}" fill="{INK}">{escape(text)}</text>'
