"""Figure panels as inline SVG, the same bytes for the same data."""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from benchmark.results import Series
from reports import maps
from reports.palette import INK, PALETTE, TITLE

_ACROSS = 4
"""Pictures in a line of a grid."""
_CELL = (1.15, 1.4)
"""Width and height of a picture's place, the picture being one by one."""
MARKERS = ("o", "s", "^")
"""For more series than there are colours."""


def svg(series: Series, name: str = "") -> str:
    """An `<svg>` element; its text stays text, its colours work on light and dark paper.

    name: of the figure's place; equal figures in several places of a page need different ones.
    """
    if series.kind == "points":
        return _element(maps.svg(series), series, name)
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
        _DRAWN[series.kind](axes, series)
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
    return _element(buffer.getvalue(), series, name)


def _size(series: Series) -> tuple[float, float]:
    if series.kind == "pictures":
        across, down = min(_ACROSS, len(series.pictures)), -(-len(series.pictures) // _ACROSS)
        return 1.5 * across * _CELL[0], 1.5 * down * _CELL[1] + 0.4
    return _SIZES.get(series.kind, (6.4, 3.2))


def _curves(axes: Any, series: Series) -> None:
    """Mean over trials, with the range of the trials as a band."""
    for i, (label, trials) in enumerate(series.lines.items()):
        if not trials:
            continue
        rounds = np.array(trials[0][0])
        values = np.array([values for _, values in trials])
        colour = PALETTE[i % len(PALETTE)]
        # A line through one round would not be seen.
        marker = "o" if len(rounds) == 1 else None
        axes.plot(rounds, values.mean(0), color=colour, label=label, linewidth=1.6, marker=marker)
        axes.fill_between(rounds, values.min(0), values.max(0), color=colour, alpha=0.15, lw=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _scatter(axes: Any, series: Series) -> None:
    """A large mark at the mean over trials, faint ones for the trials."""
    for i, (label, trials) in enumerate(series.lines.items()):
        x, y = (np.array([point[axis][0] for point in trials]) for axis in (0, 1))
        colour, marker = PALETTE[i % len(PALETTE)], MARKERS[i // len(PALETTE) % len(MARKERS)]
        axes.scatter(x, y, color=colour, marker=marker, s=8, alpha=0.35, linewidths=0)
        axes.scatter(x.mean(), y.mean(), color=colour, marker=marker, s=42, label=label)
    axes.grid(alpha=0.25)
    columns = 1 + (len(series.lines) - 1) // 14
    axes.legend(
        frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns
    )


def _choices(axes: Any, series: Series) -> None:
    """Which model each client chose in each round; one colour a model."""
    matrix = np.array(series.matrix)
    colours = matplotlib.colors.ListedColormap(PALETTE[: max(int(matrix.max()) + 1, 1)])
    limits = {"vmin": -0.5, "vmax": colours.N - 0.5}
    axes.imshow(matrix.T, aspect="auto", cmap=colours, interpolation="nearest", **limits)
    rounds, clients = (_ticks(size) for size in matrix.shape)
    axes.set_xticks(rounds, [str(t + 1) for t in rounds])
    axes.set_yticks(clients, [str(client + 1) for client in clients])
    models = [Patch(color=colours(m), label=f"model {m + 1}") for m in range(colours.N)]
    axes.legend(
        handles=models, frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5)
    )
    _mark_groups(axes, series)


def _counts(axes: Any, series: Series) -> None:
    """Images per client and class; the area of a dot is their number."""
    matrix = np.array(series.matrix)
    clients, classes = np.nonzero(matrix)
    groups = np.array(series.groups or [0] * matrix.shape[0])
    colours = [PALETTE[int(g) % len(PALETTE)] for g in groups[clients]]
    axes.scatter(clients + 1, classes, s=matrix[clients, classes] * 2.0, c=colours)
    axes.set_yticks(range(matrix.shape[1]))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _pictures(axes: Any, series: Series) -> None:
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


def _mark_groups(axes: Any, series: Series) -> None:
    """Thin lines between the true clusters."""
    changes = [i for i in range(1, len(series.groups)) if series.groups[i] != series.groups[i - 1]]
    for change in changes:
        axes.axhline(change - 0.5, color=INK, linewidth=1.0)


_DRAWN: Mapping[str, Callable[[Any, Series], None]] = {
    "curves": _curves,
    "choices": _choices,
    "counts": _counts,
    "pictures": _pictures,
    "scatter": _scatter,
}
_SIZES = {"curves": (6.4, 3.6), "scatter": (7.6, 4.2)}
"""Inches; other kinds have one size."""


def _ticks(count: int, most: int = 10) -> list[int]:
    step = max(1, -(-count // most))
    return list(range(0, count, step))


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _element(document: str, series: Series, name: str) -> str:
    """The bare element without fixed size, named for screen readers.

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
    element = re.sub(r'(href="|url\()#', rf"\1#{own}-", element)
    element = element.replace(INK, "currentColor")
    label = re.sub(r"[^\w\s.,()=:-]", "", series.title)
    return element.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
