"""Figure panels as SVG, the same bytes for the same data; their legends are the page's."""

import io
import textwrap
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..benchmark.printable import one_line
from ..benchmark.results import Series

PALETTE = (
    "#3b6fb6", "#d1603d", "#3a8f5c", "#8a5aa8", "#b58a1b", "#4aa3a8", "#b0487f", "#6b6b6b",
    "#7fa32b", "#8c5a3c",
)  # fmt: skip
_INK = "#565f68"
_STYLE = Path(__file__).parent / "templates/figures.mplstyle"
_WIDTH = 5.4  # inches
SHAPES = {"o": "●", "s": "■", "^": "▲"}
"""Markers, and how a legend shows them; for more series than there are colours."""
_ACROSS = 4  # pictures in a line of a grid


class Mark(NamedTuple):
    """One line of a legend."""

    colour: str
    shape: str
    name: str


def legend(series: Series) -> list[Mark]:
    """What the colours and shapes of a panel stand for."""
    if series.kind == "choices":
        models = 1 + max((max(chosen) for chosen in series.matrix), default=0)
        return [Mark(colour(i), "■", f"model {i + 1}") for i in range(models)]
    shapes = {"curves": "▬", "points": "●"}
    return [
        Mark(colour(i), shapes.get(series.kind) or SHAPES[marker(i)], name)
        for i, (name, trials) in enumerate(series.lines.items())
        if trials
    ]


def colour(i: int) -> str:
    """Of the series at position i."""
    return PALETTE[i % len(PALETTE)]


def marker(i: int) -> str:
    """Of the series at position i; the next one each time that the colours are used up."""
    return list(SHAPES)[i // len(PALETTE) % len(SHAPES)]


def svg(series: Series) -> bytes:
    """An SVG document of one panel."""
    return drawn(lambda: _pictures(series) if series.kind == "pictures" else _plot(series))


def drawn(draw: Callable[[], Figure], form: str = "svg") -> bytes:
    """A drawing as a document (svg, png or pdf), the same bytes for the same drawing."""
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    # A letter that the font lacks is measured as a box; the page draws it in a font of its own.
    with rc_context(fname=_STYLE), warnings.catch_warnings(action="ignore", category=UserWarning):
        written = io.BytesIO()
        draw().savefig(written, format=form, transparent=form == "svg", metadata=metadata, dpi=150)
    return written.getvalue()


def _plot(series: Series) -> Figure:
    draw, height = _DRAWN[series.kind]
    figure = Figure(figsize=(_WIDTH, height))
    axes = figure.add_axes((0.13, 0.14, 0.85, 0.83))
    axes.set(xlabel=one_line(series.x_label), ylabel=one_line(series.y_label))
    draw(axes, series)
    return figure


def _curves(axes: Axes, series: Series) -> None:
    axes.grid()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for i, trials in enumerate(series.lines.values()):
        if not trials:
            continue
        rounds, values = np.array(trials[0][0]), np.array([values for _, values in trials])
        # A line through one round would not be seen.
        mark = "o" if len(rounds) == 1 else None
        axes.plot(rounds, values.mean(0), color=colour(i), marker=mark)
        axes.fill_between(rounds, values.min(0), values.max(0), color=colour(i), alpha=0.15, lw=0)


def _scatter(axes: Axes, series: Series) -> None:
    axes.grid()
    for i, trials in enumerate(series.lines.values()):
        if trials:
            look: dict[str, Any] = {"ls": "", "marker": marker(i), "color": colour(i)}
            points = np.array(trials, dtype=float)[:, :, 0]
            axes.plot(*points.T, ms=3, alpha=0.35, **look)
            axes.plot(*points.mean(0)[:, None], ms=7, **look)


def _choices(axes: Axes, series: Series) -> None:
    matrix = np.array(series.matrix)
    rounds, clients = matrix.shape
    axes.imshow(
        matrix.T % len(PALETTE),
        cmap=ListedColormap(PALETTE),
        vmin=0,
        vmax=len(PALETTE) - 1,
        aspect="auto",
        interpolation="none",
        extent=(0.5, rounds + 0.5, clients + 0.5, 0.5),
    )
    _count_in_whole_numbers(axes)
    for i in range(1, len(series.groups)):
        if series.groups[i] != series.groups[i - 1]:
            axes.axhline(i + 0.5, color=_INK, lw=1)


def _counts(axes: Axes, series: Series) -> None:
    """Images per client and class; the area of a dot is their number."""
    matrix = np.array(series.matrix)
    groups = series.groups or [0] * len(matrix)
    clients, classes = np.nonzero(matrix)
    shades = [colour(groups[client]) for client in clients]
    axes.scatter(clients + 1, classes, s=(1 + np.sqrt(2 * matrix[clients, classes])) ** 2, c=shades)
    axes.set(xlim=(0.4, len(matrix) + 0.6), ylim=(-0.6, matrix.shape[1] - 0.4))
    _count_in_whole_numbers(axes)


def _points(axes: Axes, series: Series) -> None:
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    for i, [pair] in enumerate(series.lines.values()):
        axes.plot(*pair, ls="", marker="o", ms=3, color=colour(i))


def _pictures(series: Series) -> Figure:
    lines = -(-len(series.pictures) // _ACROSS)
    figure = Figure(figsize=(_WIDTH * 1.4, 1.8 * lines), layout="constrained")
    grid = figure.subplots(lines, _ACROSS, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for axes, (name, pixels) in zip(grid.flat, series.pictures.items(), strict=False):
        picture = np.array(pixels, dtype=np.uint8)
        axes.imshow(picture if picture.shape[2] == 3 else picture.repeat(3, axis=2))
        axes.set_title(textwrap.fill(one_line(name), 22), fontsize=8)
    return figure


_DRAWN: Mapping[str, tuple[Callable[[Axes, Series], None], float]] = {
    "curves": (_curves, 3.5),
    "choices": (_choices, 3.1),
    "counts": (_counts, 3.1),
    "points": (_points, 4.0),
    "scatter": (_scatter, 3.8),
}
"""By kind of panel, what draws it and the figure's height."""


def _count_in_whole_numbers(axes: Axes) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
