"""Grids of pictures as inline SVG by Matplotlib, the same bytes for the same data."""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from benchmark.results import Series
from reports.palette import INK, TITLE

_ACROSS = 4
"""Pictures in a line of a grid."""
_CELL = (1.15, 1.4)
"""Width and height of a picture's place, the picture being one by one."""


def svg(series: Series, name: str = "") -> str:
    """An `<svg>` element; its text stays text.

    name: of the figure's place; equal figures in several places of a page need different ones.
    """
    with matplotlib.rc_context(
        {
            "svg.hashsalt": "fedrepro",
            "svg.fonttype": "none",
            "image.composite_image": False,
            "font.family": "sans-serif",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": INK,
            "text.color": INK,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        }
    ):
        figure = Figure(figsize=_size(series), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        _draw(axes, series)
        axes.set_title(textwrap.fill(series.title, TITLE), fontsize=10, loc="left")
        axes.set_xlabel(series.x_label)
        axes.set_ylabel(series.y_label)
        # Laid out once: `savefig` would draw all of it a second time, only to lay it out again.
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.execute(figure)
        figure.set_layout_engine(None)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _own(buffer.getvalue(), series, name)


def _size(series: Series) -> tuple[float, float]:
    across, down = min(_ACROSS, len(series.pictures)), -(-len(series.pictures) // _ACROSS)
    return 1.5 * across * _CELL[0], 1.5 * down * _CELL[1] + 0.4


def _draw(axes: Any, series: Series) -> None:
    """A grid of pictures, each named above it; pixels stay pixels."""
    across = min(_ACROSS, len(series.pictures))
    for i, (label, pixels) in enumerate(series.pictures.items()):
        x, y = i % across * _CELL[0], -(i // across) * _CELL[1]
        picture = np.array(pixels, dtype=np.uint8)
        colour = picture if picture.shape[2] == 3 else picture.repeat(3, axis=2)
        axes.imshow(colour, extent=(x, x + 1, y, y + 1), interpolation="nearest")
        axes.text(x, y + 1.04, textwrap.fill(label, 22), fontsize=8, va="bottom")
    axes.set_xlim(0, across * _CELL[0])
    axes.set_ylim(-((len(series.pictures) - 1) // across) * _CELL[1], _CELL[1])
    axes.axis("off")


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _own(document: str, series: Series, name: str) -> str:
    """The bare element without fixed size.

    Several figures share a page, so identifiers that nothing refers to are dropped, and the others
    are made the figure's own.
    """
    element = document[document.index("<svg") :]
    element = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", element, count=1)
    element = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", element, count=1)
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    # A hundredth of a pixel is more than can be seen.
    element = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", _shorter, tag[0]), element)
    referred = set(re.findall(r'(?:href="|url\()#([^")]+)', element))
    own = hashlib.sha256(repr((name, series)).encode()).hexdigest()[:8]

    def keep(match: re.Match[str]) -> str:
        return f' id="{own}-{match[1]}"' if match[1] in referred else ""

    element = re.sub(r' id="([^"]+)"', keep, element)
    return re.sub(r'(href="|url\()#', rf"\1#{own}-", element)
