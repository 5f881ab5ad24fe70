"""Figures as data: the panels that a figure spec asks for, taken from stored trials."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...methods.outcome import PICTURE
from ..planning.plan import PlannedCell
from ..results import CellResult, Series, SeriesKind
from ..spec.model import Figure
from .evidence import Evidence

Lines = dict[str, list[tuple[list[float], list[float]]]]


def panels(
    figure: Figure | None,
    drawings: Sequence[PlannedCell],
    cells: Sequence[CellResult],
    evidence: Evidence,
    unit: str | None,
) -> tuple[Series, ...]:
    """The panels of a figure, none of a table; runs without a finished trial are left out.

    `cells`: the figure's own, judged, which a scatter plot draws. `unit`: of the figure's metric;
    "%" shows fractions times 100. Raises `StoreError` if a trial's arrays are missing or damaged.
    """
    if figure is None:
        return ()
    if figure.plot == "curves":
        return tuple(_curves(figure, drawings, evidence, unit))
    if figure.plot == "scatter":
        return tuple(_scatter(figure, cells))
    if figure.plot == "pictures":
        return tuple(_pictures(drawings, evidence))
    draw = _matrix if figure.plot in ("choices", "class-counts") else _maps
    return tuple(panel for one in drawings for panel in draw(figure, one, evidence))


def _scatter(figure: Figure, cells: Sequence[CellResult]) -> Iterator[Series]:
    """One measure against another, a point for each row and trial. The options `x` and `y` are last
    parts of column labels; what stands before them is a panel."""
    x, y = figure.x, figure.y
    by_place = {(cell.row, cell.column): cell for cell in cells}
    by_panel: dict[tuple[str, ...], Lines] = {}
    units = {cell.column[-1]: cell.unit or "" for cell in cells}
    scaled = {cell.column[:-1] for cell in cells if cell.departures}
    for (row, column), of_y in by_place.items():
        of_x = by_place.get((row, (*column[:-1], x)))
        if column[-1] != y or of_x is None:
            continue
        # A cell without any run has no trials at all, also where the other one has.
        pairs = zip(of_x.trials, of_y.trials, strict=False)
        if points := [([a], [b]) for a, b in pairs if a is not None and b is not None]:
            by_panel.setdefault(column[:-1], {})[" ".join(row)] = points
    for panel, lines in by_panel.items():
        title = " ".join(panel) + (" (reduced)" if panel in scaled else "")
        axes = f"{x} {units[x]}".strip(), f"{y} {units[y]}".strip()
        yield _series(figure, "scatter", title, axes, lines=lines)


def _curves(
    figure: Figure, drawings: Sequence[PlannedCell], evidence: Evidence, unit: str | None
) -> Iterator[Series]:
    scale = 100.0 if unit == "%" else 1.0
    by_panel: dict[str, Lines] = {}
    names: dict[str, None] = {}
    for drawing in drawings:
        if drawing.config is None:
            continue
        metric, label = drawing.cell.metric or "accuracy", drawing.cell.parts
        names[metric] = None
        records = evidence.records(drawing.config)
        if curves := [one.metrics[metric] for one in records if metric in one.metrics]:
            panel, line = label[: figure.split], " ".join(label[figure.split :])
            by_panel.setdefault(_title(drawing, panel), {})[line] = [
                ([float(t) for t in curve.rounds], [scale * value for value in curve.values])
                for curve in curves
            ]
    axes = "round", " / ".join(names) + (f" ({unit})" if unit else "")
    for title, lines in by_panel.items():
        yield _series(figure, "curves", title, axes, lines=lines)


def _maps(figure: Figure, drawing: PlannedCell, evidence: Evidence) -> Iterator[Series]:
    """The points of one trial's map, by class; for `client-embeddings` a panel for each client."""
    arrays = evidence.arrays(drawing.config)
    if "xy" not in arrays:
        return
    xy, label, client = arrays["xy"], arrays["label"], arrays["client"]
    apart = figure.plot == "client-embeddings"
    for chosen in np.unique(client) if apart else (None,):
        here = np.ones(len(xy), bool) if chosen is None else client == chosen
        where = () if chosen is None else (f"client {chosen + 1}",)
        lines: Lines = {}
        for c in np.unique(label[here]):
            axes = xy[here & (label == c)].T.astype(np.float64).tolist()
            x, y = ([round(value, 2) for value in axis] for axis in axes)  # as can be seen
            lines[f"class {c}"] = [(x, y)]
        title = _title(drawing, (*drawing.cell.parts, *where))
        yield _series(figure, "points", title, ("", ""), lines=lines)


def _pictures(drawings: Sequence[PlannedCell], evidence: Evidence) -> Iterator[Series]:
    """All pictures of one trial of all runs; one that all runs share stands once."""
    shown: dict[str, list[tuple[str, NDArray[Any]]]] = {}
    for drawing in drawings:
        for name, picture in evidence.arrays(drawing.config).items():
            if name.startswith(PICTURE):
                labelled = (" ".join(drawing.cell.parts), picture)
                shown.setdefault(name.removeprefix(PICTURE), []).append(labelled)
    pictures: dict[str, list[list[list[int]]]] = {}
    for name, found in shown.items():
        if all(np.array_equal(picture, found[0][1]) for _, picture in found):
            pictures[name] = found[0][1].tolist()
        else:
            pictures |= {f"{name}: {label}": picture.tolist() for label, picture in found}
    if pictures:
        title = next((_title(one, ()) for one in drawings if one.departures), "")
        yield Series("pictures", title, "", "", pictures=pictures)


def _matrix(figure: Figure, drawing: PlannedCell, evidence: Evidence) -> Iterator[Series]:
    kind: SeriesKind = "counts"
    name, axes = "class_counts", ("client", "class")
    if figure.plot == "choices":
        kind, name, axes = "choices", "choice", ("round", "client")
    arrays = evidence.arrays(drawing.config)
    if name in arrays:
        title, groups = _title(drawing, drawing.cell.parts), arrays.get("group", np.zeros(0, int))
        matrix = arrays[name].tolist()
        yield _series(figure, kind, title, axes, matrix=matrix, groups=groups.tolist())


def _series(
    figure: Figure, kind: SeriesKind, title: str, axes: tuple[str, str], **data: Any
) -> Series:
    """A panel; the spec's names of its axes win over `axes`."""
    x_label, y_label = figure.x_label or axes[0], figure.y_label or axes[1]
    return Series(kind, title, x_label, y_label, **data)


def _title(drawing: PlannedCell, label: Sequence[str]) -> str:
    """The printed label, and what was really run, where that is something else."""
    printed, config = " ".join(label), drawing.config
    if config is None or not drawing.departures:
        return printed
    trained = config if config.clients is not None or config.init_from is None else config.init_from
    count = (trained.clients or {}).get("count", "?")
    ran = f"here {count} clients with {config.data['name']}"
    return f"{printed} ({ran})" if printed else ran
