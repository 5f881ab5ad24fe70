"""Curves, scatter plots, choices and counts as SVG, written by hand in a `Frame`."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence

from benchmark.results import Series
from reports.frame import Axis, Frame, dots
from reports.palette import INK, PALETTE

MARKERS = ("o", "s", "^")
"""For more series than there are colours."""


def curves(series: Series) -> str:
    """Mean over trials, with the range of the trials as a band; a single round is a dot."""
    lines = {label: trials for label, trials in series.lines.items() if trials}
    rounds = [t for trials in lines.values() for t in trials[0][0]]
    values = [v for trials in lines.values() for _, curve in trials for v in curve]
    frame = Frame(series, Axis.over(rounds, whole=True), Axis.over(values), 205, list(lines))
    drawn, keys = [], []
    for i, trials in enumerate(lines.values()):
        colour = PALETTE[i % len(PALETTE)]
        x = [frame.x(t) for t in trials[0][0]]
        by_round = list(zip(*(curve for _, curve in trials), strict=True))
        mean = [frame.y(sum(at) / len(at)) for at in by_round]
        low, high = ([frame.y(pick(at)) for at in by_round] for pick in (min, max))
        if len(x) == 1:
            drawn.append(_line([*x, *x], [*low, *high], colour, 4, 0.15))
            drawn.append(dots(_places(x, mean), colour, 6))
        else:
            band = _points([*x, *reversed(x)], [*low, *reversed(high)])
            drawn.append(f'<path d="M{band}z" style="fill:{colour};fill-opacity:.15"/>')
            drawn.append(_line(x, mean, colour, 1.6))
        keys.append(_line([-7, 7], [0, 0], colour, 1.6))
    return frame.svg(drawn, keys, grid="xy")


def scatter(series: Series) -> str:
    """A large mark at the mean over trials, faint ones for the trials."""
    pairs = [(x[0], y[0]) for trials in series.lines.values() for x, y in trials]
    x, y = (Axis.over(pair[axis] for pair in pairs) for axis in (0, 1))
    frame = Frame(series, x, y, 240, list(series.lines))
    drawn, keys = [], []
    for i, trials in enumerate(series.lines.values()):
        colour, marker = PALETTE[i % len(PALETTE)], MARKERS[i // len(PALETTE) % len(MARKERS)]
        places = [(frame.x(a[0]), frame.y(b[0])) for a, b in trials]
        mean = (
            frame.x(sum(a[0] for a, _ in trials) / len(trials)),
            frame.y(sum(b[0] for _, b in trials) / len(trials)),
        )
        drawn.append(_marks(places, marker, colour, 2.8, 0.35))
        drawn.append(_marks([mean], marker, colour, 6.5))
        keys.append(_marks([(0, 0)], marker, colour, 6.5))
    return frame.svg(drawn, keys, grid="xy")


def choices(series: Series) -> str:
    """Which model each client chose in each round; one colour a model."""
    clients = list(zip(*series.matrix, strict=True))
    n_models = max(max(map(max, clients)) + 1, 1)
    x, y = (_counted(size) for size in (len(series.matrix), len(clients)))
    names = [f"model {m + 1}" for m in range(n_models)]
    frame = Frame(series, x, y, 175, names, downwards=True)
    height = frame.y(1.5) - frame.y(0.5)
    boxes = defaultdict[int, list[str]](list)
    for client, chosen in enumerate(clients):
        t = 0
        for model, run in itertools.groupby(chosen):
            length = len(list(run))
            left, right = frame.x(t + 0.5), frame.x(t + length + 0.5)
            width = f"{right - left:.1f}"
            place = f"M{left:g} {frame.y(client + 0.5):g}h{width}v{height:.1f}h-{width}z"
            boxes[model].append(place)
            t += length
    colours = [PALETTE[m % len(PALETTE)] for m in range(n_models)]
    crisp = 'shape-rendering="crispEdges"'
    drawn = [f'<path d="{"".join(boxes[m])}" fill="{colours[m]}" {crisp}/>' for m in sorted(boxes)]
    # Thin lines between the true clusters.
    changes = (i for i, (a, b) in enumerate(itertools.pairwise(series.groups), 1) if a != b)
    for change in changes:
        at = frame.y(change + 0.5)
        drawn.append(_line([frame.left, frame.right], [at, at], INK, 1))
    keys = [f'<path d="M-6 -4h12v8h-12z" fill="{colour}"/>' for colour in colours]
    return frame.svg(drawn, keys)


def counts(series: Series) -> str:
    """Images per client and class; the area of a dot is their number."""
    groups = series.groups or [0] * len(series.matrix)
    n_classes = len(series.matrix[0]) if series.matrix else 0
    x = Axis.over((1, max(len(series.matrix), 1)), whole=True)
    every = tuple((float(k), str(k)) for k in range(n_classes))
    frame = Frame(series, x, Axis(-0.6, n_classes - 0.4, every), 175)
    places = defaultdict[tuple[str, int], list[tuple[float, float]]](list)
    for client, (row, group) in enumerate(zip(series.matrix, groups, strict=True), 1):
        for label, count in enumerate(row):
            if count:
                colour = PALETTE[int(group) % len(PALETTE)]
                places[colour, count].append((frame.x(client), frame.y(label)))
    return frame.svg(
        dots(_places(*zip(*found, strict=True)), colour, round(math.sqrt(2 * count), 1))
        for (colour, count), found in places.items()
    )


def _counted(size: int, most: int = 10) -> Axis:
    """Places 1 to `size`, half a place of room on both sides."""
    step = max(1, -(-size // most))
    return Axis(0.5, size + 0.5, tuple((float(i), str(i)) for i in range(1, size + 1, step)))


def _marks(
    places: Sequence[tuple[float, float]], marker: str, colour: str, size: float, opacity: float = 1
) -> str:
    if marker != "^":
        square = marker == "s"
        path = _places(*zip(*places, strict=True))
        return dots(path, colour, 0.85 * size if square else size, square, opacity)
    half, tip = f"{size / 2:g}", f"{size:g}"
    path = "".join(f"M{x:g} {y - size / 2:g}l{half} {tip}h-{tip}z" for x, y in places)
    return f'<path d="{path}" style="fill:{colour};fill-opacity:{opacity:g}"/>'


def _places(x: Sequence[float], y: Sequence[float]) -> str:
    return "".join(f"M{a:g} {b:g}h0" for a, b in zip(x, y, strict=True))


def _points(x: Sequence[float], y: Sequence[float]) -> str:
    return "L".join(f"{a:g} {b:g}" for a, b in zip(x, y, strict=True))


def _line(
    x: Sequence[float], y: Sequence[float], colour: str, width: float, opacity: float = 1
) -> str:
    faint = "" if opacity == 1 else f";stroke-opacity:{opacity:g}"
    style = f"fill:none;stroke:{colour};stroke-width:{width:g};stroke-linejoin:round{faint}"
    return f'<path d="M{_points(x, y)}" style="{style}"/>'
