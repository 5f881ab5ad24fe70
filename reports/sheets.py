"""What figures are drawn on: Matplotlib's axes, made once, with a legend beside them.

Making axes and ticks, a layout that measures every text, and Matplotlib's own legends each take
longer than drawing the data. So axes are kept, places are fixed, texts are measured once, and a
legend is marks and texts.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.markers import MarkerStyle
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator, NullLocator
from matplotlib.transforms import IdentityTransform, Transform, blended_transform_factory
from numpy.typing import ArrayLike

from fedrepro.reports.palette import INK

WIDTH = 460.0
"""Points, of every figure, so that all on a page have letters of one size."""
FONT = "DejaVu Sans"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "fedrepro",
    "svg.fonttype": "none",
    "image.composite_image": False,
    "text.parse_math": False,
    "font.family": FONT,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.alpha": 0.25,
}
# For the whole process, in which nothing else draws: to set and restore them for each figure took
# a twentieth of the time of drawing it.
matplotlib.rcParams.update(_STYLE)
_DPI = 72
"""So that Matplotlib's pixels are points."""
_STEPS = (1, 2, 2.5, 5, 10)
"""Between ticks, times powers of ten."""
_LEFT, _BOTTOM, _BARE, _EDGE = 52.0, 36.0, 18.0, 8.0
"""Points left of and below axes, there without ticks, and on the other sides."""
_SMALL, _LINE, _MARK = 8.0, 12.0, 22.0
"""Points: letters of a legend, from one line of it to the next, and for a mark before its text."""


@dataclass(frozen=True)
class Mark:
    """One line of a legend; shape: as Matplotlib names a marker, '_' for a line."""

    label: str
    colour: str
    shape: str


class Sheet:
    """Axes for one kind of figure.

    height: points. whole: the axes that count in whole numbers, 'x', 'xy' or none. grid: lines at
    the ticks. ticks: whether places have a meaning that can be read off.
    """

    def __init__(
        self, height: float, whole: str = "", *, grid: bool = False, ticks: bool = True
    ) -> None:
        self.width, self.height = WIDTH, height
        self.figure = Figure(figsize=(WIDTH / _DPI, height / _DPI), dpi=_DPI)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        for paper in (self.figure.patch, self.axes.patch):
            paper.set_visible(False)
        self.axes.grid(visible=grid)
        self._left, self._bottom = (_LEFT, _BOTTOM) if ticks else (_BARE, _BARE)
        points, share = IdentityTransform(), self.axes.transAxes
        below, beside = (share, points), (points, share)
        self.axes.xaxis.set_label_coords(0.5, 2 * _EDGE, blended_transform_factory(*below))
        self.axes.yaxis.set_label_coords(1.5 * _EDGE, 0.5, blended_transform_factory(*beside))
        # Lines of a grid end where ticks would stand.
        self.axes.tick_params(length=3, bottom=not grid, left=not grid)
        for name, axis in (("x", self.axes.xaxis), ("y", self.axes.yaxis)):
            counts = name in whole
            few = MaxNLocator(10 if counts else 8, steps=_STEPS, integer=counts, min_n_ticks=1)
            axis.set_major_locator(few if ticks else NullLocator())

    def prepare(self, x_label: str, y_label: str, legend: Sequence[Mark]) -> None:
        """Names the axes, and gives them the room that the legend leaves."""
        rows = int((self.height - 2 * _EDGE) // _LINE)
        columns = [legend[i : i + rows] for i in range(0, len(legend), rows)]
        widths = [_MARK + _EDGE + max(_width(one.label) for one in column) for column in columns]
        # A legend that would leave no room makes the page wider.
        right, top = max(WIDTH - _EDGE - sum(widths), WIDTH / 2), self.height - _EDGE
        self.width = right + sum(widths) + _EDGE
        width, height = right - self._left, top - self._bottom
        self.axes.set_position(
            (self._left / WIDTH, self._bottom / self.height, width / WIDTH, height / self.height)
        )
        self.axes.set_xlabel(x_label)
        self.axes.set_ylabel(y_label)
        for column, width in zip(columns, widths, strict=True):
            self._explain(column, right)
            right += width

    def _explain(self, legend: Sequence[Mark], x: float) -> None:
        points, middle = IdentityTransform(), self.height / 2
        self.figure.text(
            x + _MARK,
            middle,
            "\n".join(" ".join(mark.label.split()) for mark in legend),
            size=_SMALL,
            linespacing=_LINE / _SMALL,
            va="center",
            transform=points,
        )
        top = middle + _LINE * (len(legend) - 1) / 2
        lines = [(mark, top - _LINE * i) for i, mark in enumerate(legend)]
        for shape, found in groupby(lines, lambda line: line[0].shape):
            alike = list(found)
            places = [(x + _MARK / 2, y) for _, y in alike]
            size = _LINE if shape == "_" else _LINE / 2
            colours = [mark.colour for mark, _ in alike]
            self.figure.add_artist(marks(shape, places, colours, size, points))

    def document(self) -> str:
        """All that was drawn, as an SVG document."""
        buffer = io.StringIO()
        renderer: Any = _Renderer(self.width, self.height, buffer)  # type: ignore[no-untyped-call]
        self.figure.draw(renderer)
        renderer.finalize()
        return buffer.getvalue()

    def clear(self) -> None:
        """Makes room for the next figure."""
        for owner in (self.axes, self.figure):
            for artist in (*owner.artists, *owner.images, *owner.texts):
                artist.remove()
        for collection in list(self.axes.collections):
            collection.remove()


def marks(
    shape: str, places: ArrayLike, colours: Sequence[Any], size: float, transform: Transform
) -> PathCollection:
    """Marks of one shape and size (points) at places (n, 2), which `transform` takes to points."""
    style = MarkerStyle(shape)
    made = PathCollection(
        [style.get_path().transformed(style.get_transform())],
        [size**2],
        facecolors=colours,
        edgecolors=colours,
        linewidths=0 if style.is_filled() else 1.6,
        offsets=places,
        offset_transform=transform,
    )
    made.set_transform(IdentityTransform())
    return made


class _Renderer(RendererSVG):
    """Matplotlib's, which measures a text or a font once and not anew in every figure."""

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        return _measured(s, prop.get_size_in_points())

    def _get_font_height_metrics(self, prop: FontProperties) -> tuple[float, float, float]:
        # Matplotlib asks renderers for these, and else reads the font's tables for each text.
        return _heights(prop.get_size_in_points())

    def open_group(self, s: str, gid: str | None = None) -> None:
        """Groups are for those who edit a drawing, and have no place on a page."""

    def close_group(self, s: str) -> None:
        """See `open_group`."""


def _width(label: str) -> float:
    """Points that a label takes in letters wider than most, so that those of other fonts fit."""
    return _measured(label, _SMALL)[0]


@cache
def _heights(size: float) -> tuple[float, float, float]:
    """Ascent, descent and gap between lines of the font, in points."""
    font: Any = get_font(findfont(FONT))
    points = size / font.get_sfnt_table("head")["unitsPerEm"]
    table = font.get_sfnt_table("OS/2")
    high, low, gap = (table[f"sTypo{name}"] for name in ("Ascender", "Descender", "LineGap"))
    return high * points, -low * points, gap * points


@lru_cache(maxsize=4096)
def _measured(text: str, size: float) -> tuple[float, float, float]:
    """Width, height and descent in points; all texts are as high, so that they share base lines."""
    font = FontProperties(family=FONT, size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, False)
    _, height, descent = text_to_path.get_text_width_height_descent("lp", font, False)
    return width, height, descent
