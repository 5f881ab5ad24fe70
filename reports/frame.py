"""The frame of a figure as SVG, written by hand: title, axes with ticks, legend.

Matplotlib measures every text and lays all of it out twice, which made figures two thirds of the
time that the HTML of a report took. Here the plot has one size, and texts have room around it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import escape

from benchmark.results import Series
from reports.palette import INK, TITLE

PLOT_WIDTH = 330
_LETTER = 0.56
"""Width of a letter, in heights of its font; rather too much than too little."""
_TICK, _LEGEND, _LABEL, _TITLE = 8, 8, 9, 10
_LINE = 13


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, with ticks (value, text)."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    @classmethod
    def over(cls, values: Iterable[float], whole: bool = False, margin: float = 0.05) -> Axis:
        """An axis that holds all values, and `margin` of their range on both sides.

        whole: ticks are whole numbers, as of rounds.
        """
        found = list(values) or [0.0]
        low, high = min(found), max(found)
        room = margin * (high - low) or (0.5 if whole else 0.05 * abs(high) or 0.5)
        step = _step((high - low + 2 * room) / 7)
        if whole:
            step = max(1.0, step)
            at = [low, *_multiples(step, low + step / 2, high)]
        else:
            at = _multiples(step, low - room, high + room)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        ticks = tuple((tick, f"{tick:.{places}f}".replace("-", "−")) for tick in at)
        return cls(low - room, high + room, ticks)


def _step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, ... times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def _multiples(step: float, low: float, high: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step + 0.0 for i in range(first, last + 1)]


class Frame:
    """Places data in the plot, and draws what is around it.

    height: of the plot. legend: labels, with what stands before each as SVG made by `key`, which
    is given the middle of its place. downwards: whether y grows from top to bottom.
    """

    def __init__(
        self,
        series: Series,
        x: Axis,
        y: Axis,
        height: int = 190,
        legend: Sequence[str] = (),
        downwards: bool = False,
    ) -> None:
        self.series, self.legend = series, legend
        self._x, self._y, self._downwards = x, y, downwards
        self.titles = textwrap.wrap(series.title, TITLE)
        self.top = _LINE * len(self.titles) + 8
        self.bottom = self.top + height
        self.left = 12 + _width((text for _, text in y.ticks), _TICK)
        self.left += 13 if series.y_label else 0
        self.right = self.left + PLOT_WIDTH

    def x(self, value: float) -> float:
        """Pixels from the left."""
        share = (value - self._x.low) / (self._x.high - self._x.low)
        return round(self.left + share * PLOT_WIDTH, 1)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        share = (value - self._y.low) / (self._y.high - self._y.low)
        share = share if self._downwards else 1 - share
        return round(self.top + share * (self.bottom - self.top), 1)

    def svg(self, drawn: Iterable[str], keys: Sequence[str] = (), grid: str = "") -> str:
        """An `<svg>` element of what is drawn in the plot and of the frame around it.

        keys: marks of the legend as SVG about the point (0, 0). grid: `x`, `y` or both.
        """
        parts = [text(2, _LINE * (i + 1), line, _TITLE) for i, line in enumerate(self.titles)]
        parts += [self._ticks(grid), *drawn]
        height = self.bottom + 14
        if self.series.x_label:
            height += 14
            centre = (self.left + self.right) / 2
            parts.append(text(centre, height - 3, self.series.x_label, _LABEL, "middle"))
        parts.append(upright(10, (self.top + self.bottom) / 2, self.series.y_label))
        legend, right = self._legend(keys)
        parts += legend
        return f'<svg viewBox="0 0 {right:g} {height:g}">{"".join(parts)}</svg>'

    def _ticks(self, grid: str) -> str:
        marks, lines, texts = [f"M{self.left:g} {self.top}V{self.bottom}H{self.right:g}"], [], []
        for value, word in self._x.ticks:
            at = self.x(value)
            marks.append(f"M{at:g} {self.bottom}v3")
            lines.append(f"M{at:g} {self.top}V{self.bottom}" if "x" in grid else "")
            texts.append(text(at, self.bottom + 12, word, _TICK, "middle"))
        for value, word in self._y.ticks:
            at = self.y(value)
            marks.append(f"M{self.left:g} {at:g}h-3")
            lines.append(f"M{self.left:g} {at:g}H{self.right:g}" if "y" in grid else "")
            texts.append(text(self.left - 5, at + 3, word, _TICK, "end"))
        faint = f'<path d="{"".join(lines)}" style="stroke:{INK};stroke-opacity:.25"/>'
        axes = f'<path d="{"".join(marks)}" style="stroke:{INK};fill:none"/>'
        return (faint if grid else "") + axes + "".join(texts)

    def _legend(self, keys: Sequence[str]) -> tuple[list[str], float]:
        """Labels beside the plot, in columns; with where they end."""
        if not self.legend:
            return [], self.right + 6
        rows = min(len(self.legend), max(1, int(self.bottom - self.top) // _LINE))
        start = self.top + ((self.bottom - self.top) - _LINE * rows) / 2 + _LINE / 2
        parts, x = [], self.right + 16
        for first in range(0, len(self.legend), rows):
            labels = self.legend[first : first + rows]
            for i, label in enumerate(labels):
                y = start + _LINE * i
                parts.append(f'<g transform="translate({x:g} {y:g})">{keys[first + i]}</g>')
                parts.append(text(x + 11, y + 3, label, _LEGEND))
            x += 26 + _width(labels, _LEGEND)
        return parts, x - 10


def text(x: float, y: float, words: str, size: int, anchor: str = "start") -> str:
    """Words that begin, end or have their middle at a point; nothing for no words."""
    if not words:
        return ""
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    drawn = f'x="{x:g}" y="{y:g}"{place} font-size="{size}" fill="{INK}"'
    return f"<text {drawn}>{escape(words)}</text>"


def dots(places: str, colour: str, width: float, square: bool = False, opacity: float = 1) -> str:
    """Dots at the ends of lines of no length (`M10 20h0`): a path for all, not one for each."""
    # As a style, because Matplotlib's figures on the same page set the cap of every element.
    cap = "square" if square else "round"
    faint = "" if opacity == 1 else f";stroke-opacity:{opacity:g}"
    style = f"fill:none;stroke:{colour};stroke-width:{width:g};stroke-linecap:{cap}{faint}"
    return f'<path d="{places}" style="{style}"/>'


def upright(x: float, y: float, words: str) -> str:
    """The name of a vertical axis, with its middle at a point; nothing for no words."""
    if not words:
        return ""
    turned = f'text-anchor="middle" transform="rotate(-90 {x:g} {y:g})"'
    place = f'x="{x:g}" y="{y:g}" {turned} font-size="{_LABEL}" fill="{INK}"'
    return f"<text {place}>{escape(words)}</text>"


def _width(words: Iterable[str], size: int) -> float:
    return round(_LETTER * size * max(map(len, words), default=0), 1)
