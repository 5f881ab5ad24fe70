"""Figure panels as inline SVG, the same bytes for the same data."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray

from fedrepro.benchmark.results import Series
from fedrepro.reports.palette import INK, PALETTE, colour, marker
from fedrepro.reports.sheets import FONT, WIDTH, Mark, Sheet, marks

_ACROSS = 4
"""Pictures in a line of a grid."""
_SIDE, _CELL = 100.0, (WIDTH / _ACROSS, 124.0)
"""Points: a picture's side, and its place with a name above it."""
_HALVES = np.array([-0.5, 0.5])
_FINER = re.compile(r"(?<=\.\d\d)\d+")
"""Decimals of a point that nobody sees."""


def svg(series: Series, name: str = "figure") -> str:
    """An `<svg>` element; its text stays text, its colours work on light and dark paper.

    name: of the figure's place, unlike that of any other figure on the page.
    """
    sheet = _sheet(series.kind, -(-len(series.pictures) // _ACROSS))
    try:
        sheet.prepare(series.x_label, series.y_label, _marks(series))
        _DRAWN[series.kind](sheet.axes, series)
        document = sheet.document()
    finally:
        sheet.clear()
    return _element(document, series.title, name)


@cache
def _sheet(kind: str, lines: int) -> Sheet:
    """lines: of pictures."""
    if kind == "pictures":
        return Sheet(lines * _CELL[1], ticks=False)
    if kind == "points":
        return Sheet(300, ticks=False)
    if kind == "scatter":
        return Sheet(270, grid=True)
    return Sheet(250, whole="x", grid=True) if kind == "curves" else Sheet(220, whole="xy")


def _marks(series: Series) -> list[Mark]:
    """What the legend explains."""
    if series.kind == "choices":
        models = 1 + max((max(chosen) for chosen in series.matrix), default=0)
        return [Mark(f"model {i + 1}", colour(i), "s") for i in range(models)]
    shapes = {"curves": "_", "points": "o"}
    return [
        Mark(label, colour(i), shapes.get(series.kind) or marker(i))
        for i, (label, trials) in enumerate(series.lines.items())
        if trials
    ]


def _curves(axes: Axes, series: Series) -> None:
    """Mean over trials, with the range of the trials as a band."""
    lines, bands, colours = [], [], []
    for i, trials in enumerate(series.lines.values()):
        if not trials:
            continue
        rounds, values = np.array(trials[0][0]), np.array([values for _, values in trials])
        lines.append(np.column_stack([rounds, values.mean(0)]))
        low, high = (np.column_stack([rounds, edge]) for edge in (values.min(0), values.max(0)))
        bands.append(np.concatenate([low, high[::-1]]))
        colours.append(colour(i))
    _add(axes, PolyCollection(bands, facecolors=colours, alpha=0.15, linewidths=0))
    _add(axes, LineCollection(lines, colors=colours, linewidths=1.6))
    # A line through one round would not be seen.
    alone = [(c, 6.0, line) for c, line in zip(colours, lines, strict=True) if len(line) == 1]
    _dots(axes, alone)
    _show(axes, bands)


def _scatter(axes: Axes, series: Series) -> None:
    """A large mark at the mean over trials, faint ones for the trials."""
    of_shape: dict[str, list[tuple[str, NDArray[np.float64]]]] = defaultdict(list)
    for i, trials in enumerate(series.lines.values()):
        if trials:
            of_shape[marker(i)].append((colour(i), np.array(trials, dtype=float)[:, :, 0]))
    for shape, found in of_shape.items():
        places = np.concatenate([trials for _, trials in found])
        means = np.array([trials.mean(0) for _, trials in found])
        faint = [(c, 0.35) for c, trials in found for _ in trials]
        _add(axes, marks(shape, places, faint, 2.8, axes.transData))
        full = [c for c, _ in found]
        _add(axes, marks(shape, means, full, 6.5, axes.transData))
    _show(axes, [trials for found in of_shape.values() for _, trials in found])


def _choices(axes: Axes, series: Series) -> None:
    """Which model each client chose in each round; one colour a model."""
    matrix = np.array(series.matrix)
    rounds, clients = matrix.shape
    shades = np.array([[round(255 * part) for part in to_rgb(c)] for c in PALETTE], np.uint8)
    frame = (0.5, rounds + 0.5, clients + 0.5, 0.5)
    axes.imshow(shades[matrix.T % len(shades)], aspect="auto", extent=frame, interpolation="none")
    axes.set(xlim=frame[:2], ylim=frame[2:])
    changes = [i for i in range(1, len(series.groups)) if series.groups[i] != series.groups[i - 1]]
    between = [[(frame[0], i + 0.5), (frame[1], i + 0.5)] for i in changes]
    _add(axes, LineCollection(between, colors=INK, linewidths=1))


def _counts(axes: Axes, series: Series) -> None:
    """Images per client and class; the area of a dot is their number."""
    matrix = np.array(series.matrix)
    groups = series.groups or [0] * len(matrix)
    alike: dict[tuple[str, float], list[tuple[int, int]]] = defaultdict(list)
    for client, kind in np.argwhere(matrix).tolist():
        width = 1 + float(np.sqrt(2 * matrix[client, kind]))
        alike[colour(groups[client]), width].append((client + 1, kind))
    _dots(axes, [(*look, places) for look, places in alike.items()])
    clients, classes = matrix.shape
    axes.set(xlim=(0.4, clients + 0.6), ylim=(-0.6, classes - 0.4))


def _points(axes: Axes, series: Series) -> None:
    """A map, where only nearness means anything, so that both axes have one scale."""
    pairs = [np.transpose(pair) for [pair] in series.lines.values()]
    _dots(axes, [(colour(i), 3.2, pair) for i, pair in enumerate(pairs)])
    _show(axes, pairs, one_scale=True)


def _pictures(axes: Axes, series: Series) -> None:
    """A grid of pictures, each named above it; pixels stay pixels."""
    lines = -(-len(series.pictures) // _ACROSS)
    axes.set_position((0, 0, 1, 1))
    for i, (label, pixels) in enumerate(series.pictures.items()):
        x, y = i % _ACROSS * _CELL[0], (lines - 1 - i // _ACROSS) * _CELL[1]
        picture = np.array(pixels, dtype=np.uint8)
        shades = picture if picture.shape[2] == 3 else picture.repeat(3, axis=2)
        axes.imshow(shades, extent=(x, x + _SIDE, y, y + _SIDE), interpolation="none")
        axes.text(x, y + _SIDE + 3, textwrap.fill(label, 22), fontsize=8, va="bottom")
    axes.set(xlim=(0, WIDTH), ylim=(0, lines * _CELL[1]))
    axes.axis("off")


_DRAWN: Mapping[str, Callable[[Axes, Series], None]] = {
    "curves": _curves,
    "choices": _choices,
    "counts": _counts,
    "pictures": _pictures,
    "points": _points,
    "scatter": _scatter,
}


def _add(axes: Axes, collection: Collection) -> None:
    """Adds what lies within the limits by itself, as many lines or areas as there are in one go."""
    collection.set_clip_on(False)
    axes.add_collection(collection, autolim=False)


def _dots(axes: Axes, alike: Sequence[tuple[str, float, ArrayLike]]) -> None:
    """Dots, each lot with its colour, width in points and places (n, 2), as one path a lot.

    Markers would be an element a point. A line of no length with round ends is a dot, too.
    """
    paths = []
    for _, _, places in alike:
        ends = np.repeat(np.asarray(places, dtype=float), 2, axis=0)
        paths.append(Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(ends) // 2)))
        paths[-1].should_simplify = False
    dots = PathCollection(
        paths,
        facecolors="none",
        edgecolors=[one for one, _, _ in alike],
        linewidths=[width for _, width, _ in alike],
        capstyle="round",
    )
    dots.set_transform(axes.transData)
    _add(axes, dots)


def _show(axes: Axes, places: list[NDArray[np.float64]], one_scale: bool = False) -> None:
    """Sets the limits around places (n, 2), with a little room."""
    every = np.concatenate(places or [np.zeros((1, 2))])
    middle, span = (every.min(0) + every.max(0)) / 2, 1.1 * np.ptp(every, axis=0)
    # One place alone has a scale of its own.
    span = np.where(span > 0, span, 0.2 * np.abs(middle) + (middle == 0))
    if one_scale:
        span = max(span / axes.bbox.size) * axes.bbox.size
    axes.set(xlim=middle[0] + span[0] * _HALVES, ylim=middle[1] + span[1] * _HALVES)


def _element(document: str, title: str, name: str) -> str:
    """The bare element without fixed size, named for screen readers.

    What stands before the drawing (metadata, a style for the whole page) is left out, and the font,
    which is the page's. Several figures share a page, so identifiers that nothing refers to are
    dropped, and the others are made the figure's own.
    """
    head, _, body = document.partition("</defs>")
    body = body.partition("</svg>")[0].replace(" \nL ", "L")
    body = body.replace(f" font-family: '{FONT}';", "")
    # The matrix of a picture is multiplied by its many pixels, and stays as it is.
    body = re.sub(r"<(?:path|use|text)[^>]*>", lambda tag: _FINER.sub("", tag[0]), body)

    def keep(match: re.Match[str]) -> str:
        return f' id="{name}-{match[1]}"' if f"#{match[1]}" in body else ""

    body = re.sub(r' id="([^"]+)"', keep, body)
    for reference in ('href="#', "url(#"):
        body = body.replace(reference, f"{reference}{name}-")
    body = body.replace(INK, "currentColor")
    [place] = re.findall(r'viewBox="[^"]*"', head)
    label = re.sub(r"[^\w\s.,()=:-]", "", title)
    return f'<svg role="img" aria-label="{label}" {place}>{body}</svg>'
