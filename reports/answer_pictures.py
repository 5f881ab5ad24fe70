"""Pictures of an answer: published against ours, how much of a claim is seen, and on what data."""

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..benchmark.printable import one_line
from ..benchmark.results import CellResult, OnOtherData, Report, TableResult, named
from ..benchmark.stats.intervals import Interval, t_interval
from .evidence import data_name
from .figures import colour, drawn, marker
from .strips import printed_value

_LINE = "#9aa4ae"
_LEFT, _RIGHT = -1.0, 2.5
"""The ends of the axis of ratios; what lies beyond is an arrow at the edge."""
_WORDS = {
    "HOLDS": ("#17693a", "o"),
    "SAME DIRECTION": ("#3b6fb6", "^"),
    "OPPOSITE": ("#a8261c", "X"),
    "ABSENT": ("#8a5aa8", "s"),
    "OPEN": ("#6b6b6b", "D"),
}
"""The colour and the mark of each word on a claim."""

Points = dict[str, list[tuple[float, float, float, float]]]
"""By method its cells: a place, our mean, and the ends of its interval or the mean again."""


def points(table: TableResult, x: Callable[[CellResult], float | None] = printed_value) -> Points:
    """The measured cells of the metric that decides the table, where `x` has a value."""
    metric = table.answers[0].metric if table.answers else table.metric
    found: Points = {}
    for cell in table.cells:
        if cell.metric == metric and cell.mean is not None:
            own = found.setdefault(" ".join(cell.row), [])
            if (at := x(cell)) is not None:
                own.append((at, cell.mean, *(cell.interval or (cell.mean, cell.mean))))
    return found


def printed_against_ours(table: TableResult, form: str = "svg") -> bytes:
    """Our means with their intervals over the printed values (svg, png or pdf); empty for none."""
    found = points(table) if table.answers else {}

    def draw() -> Figure:
        figure, axes = _figure(table, found, f"published{_unit(table)}")
        low = max(axes.get_xlim()[0], axes.get_ylim()[0])
        high = min(axes.get_xlim()[1], axes.get_ylim()[1])
        if low < high:
            axes.plot([low, high], [low, high], color=_LINE, lw=1, ls="--", zorder=0)
        return figure

    return drawn(draw, form) if any(found.values()) else b""


def by_exchange(report: Report, table: TableResult) -> bytes:
    """Our means over the bytes exchanged for them, as SVG; empty where all exchange alike."""
    exchanged = {
        run.key: sum(run.counts.get(f"{way}loaded_bytes", 0.0) for way in ("up", "down")) / 1e6
        for run in report.runs
    }
    found = points(table, lambda cell: exchanged.get(cell.run or "") or None)

    def draw() -> Figure:
        figure, axes = _figure(table, found, "MB that server and clients exchanged")
        axes.set_xscale("log")
        for set_formatter in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
            set_formatter("{x:g}")  # by itself it writes powers as a formula
        return figure

    places = {at for own in found.values() for at, *_ in own}
    return drawn(draw) if len(places) > 1 else b""


def by_column(table: TableResult) -> bytes:
    """A figure of the paper: our means by column, and printed values as black marks, as SVG. Empty
    for a table, for a figure that is drawn in another way, and where nothing was trained."""
    columns = list(dict.fromkeys(cell.column for cell in table.cells))
    rows = list(dict.fromkeys(cell.row for cell in table.cells))
    if not table.id.startswith("figure") or table.panels:
        return b""

    def place(cell: CellResult) -> float:
        return columns.index(cell.column) + 0.6 * (rows.index(cell.row) + 0.5) / len(rows) - 0.3

    found = points(table, place)

    def draw() -> Figure:
        figure, axes = _figure(table, found, "")
        printed = [(place(cell), printed_value(cell)) for cell in table.cells]
        for x, y in printed:
            if y is not None:
                axes.plot([x], [y], marker="_", ms=12, mew=2, color="#000")
        axes.set_xticks(range(len(columns)), [one_line(" ".join(one)) for one in columns])
        axes.tick_params(axis="x", labelsize=7, labelrotation=15 if len(columns) > 4 else 0)
        return figure

    return drawn(draw) if found else b""


def _unit(table: TableResult) -> str:
    return f" ({one_line(table.unit)})" if table.unit else ""


def _figure(table: TableResult, found: Points, x_label: str) -> tuple[Figure, Axes]:
    """Cells as points with intervals, over a legend of their methods."""
    names = list(map(one_line, found))
    across = max(1, min(5, 90 // (6 + max(map(len, names)))))
    below = 0.6 + 0.17 * math.ceil(len(names) / across)
    height = 3.3 + below
    figure = Figure(figsize=(5.4, height))
    axes = figure.add_axes((0.13, below / height, 0.85, 3.2 / height))
    axes.set(xlabel=x_label, ylabel=f"here{_unit(table)}")
    axes.grid()
    drawings = []
    for i, own in enumerate(found.values()):
        x, y, low, high = np.reshape(own, (-1, 4)).T
        look: dict[str, Any] = {"ls": "", "marker": marker(i), "ms": 5, "color": colour(i)}
        drawings.append(axes.errorbar(x, y, yerr=np.abs([y - low, high - y]), elinewidth=1, **look))
    # Named here, since a label of its own that begins with "_" is no entry of a legend.
    _legend(figure, drawings, names, across)
    return figure, axes


def _legend(figure: Figure, drawings: Sequence[Any], names: Sequence[str], across: int) -> None:
    look: dict[str, Any] = {"fontsize": 7, "frameon": False, "columnspacing": 1.2}
    figure.legend(drawings, names, ncols=across, loc="lower left", borderaxespad=0.3, **look)


def claim_ratios(report: Report) -> bytes:
    """How much of each printed difference is seen, with its interval, as SVG; empty without any."""
    lines = [
        (one_line(f"{named(table.id)}: {claim.says}"), claim.word, ratio)
        for table in report.tables
        for claim in table.claims
        if (ratio := claim.answer.ratio) is not None
    ]
    return drawn(lambda: _ratios(lines)) if lines else b""


def _ratios(lines: Sequence[tuple[str, str, Interval]]) -> Figure:
    height = 0.8 + 0.3 * len(lines)
    figure = Figure(figsize=(9.5, height))
    axes = figure.add_axes((0.5, 0.7 / height, 0.49, 1 - 0.75 / height))
    for at, style in ((0.0, "-"), (0.5, ":"), (1.0, "--")):
        axes.axvline(at, color=_LINE, lw=1, ls=style, zorder=0)
    used = dict[str, Any]()
    for line, (_, word, one) in enumerate(lines):
        shade, shape = _WORDS.get(word, _WORDS["OPEN"])
        ends = np.clip(
            [one.mean if end is None else end for end in (one.low, one.high)], _LEFT, _RIGHT
        )
        axes.plot(ends, [line, line], color=shade, lw=1.5)
        inside = _LEFT <= one.mean <= _RIGHT
        mark = shape if inside else (">" if one.mean > _RIGHT else "<")
        axes.plot([np.clip(one.mean, _LEFT, _RIGHT)], [line], marker=mark, ms=5, color=shade)
        used[word] = Line2D([], [], marker=shape, ms=5, color=shade)
    axes.set(
        xlim=(_LEFT - 0.08, _RIGHT + 0.08),
        ylim=(len(lines) - 0.4, -0.6),
        xlabel="difference here, as a multiple of the published one",
        yticks=range(len(lines)),
    )
    axes.set_yticklabels([textwrap.fill(name, 72, max_lines=2) for name, _, _ in lines], fontsize=8)
    _legend(figure, list(used.values()), list(used), len(_WORDS))
    return figure


def by_headroom(report: Report) -> bytes:
    """Headline differences over the headroom of the data sets of their records, as SVG or ""."""
    panels: dict[tuple[str, str], list[OnOtherData]] = {}
    for one in (one for one in report.on_other_data if one.differences):
        panels.setdefault((one.table, one.claim), []).append(one)
    return drawn(lambda: _over_headroom(list(panels.values()))) if panels else b""


def _over_headroom(panels: Sequence[Sequence[OnOtherData]]) -> Figure:
    """A panel a claim, on which the dashed line is published; a mark and colour a data set."""
    across = min(3, len(panels))
    down = math.ceil(len(panels) / across)
    figure = Figure(figsize=(4.2 * across, 3.1 * down + 0.4), layout="constrained")
    places = list(figure.subplots(down, across, squeeze=False).flat)
    data = list(dict.fromkeys(one.data for found in panels for one in found))
    drawings = dict[str, Any]()
    for axes, found in zip(places, panels, strict=False):
        for one in found:
            room, ours = t_interval(one.headroom), t_interval(one.differences)
            number = data.index(one.data)
            look: dict[str, Any] = {"ls": "", "marker": marker(number), "color": colour(number)}
            drawings[one.data] = axes.errorbar(
                room.mean, ours.mean, xerr=_arm(room), yerr=_arm(ours), elinewidth=1, **look
            )
        if (printed := found[0].answer.printed) is not None:
            axes.axhline(printed, color="#000", ls="--", lw=1)
        axes.axhline(0, color=_LINE, lw=1)
        axes.set(xlabel="headroom of the data", ylabel="difference here")
        name = one_line(f"{found[0].said} ({named(found[0].table).lower()})")
        axes.set_title(textwrap.fill(name, 46), fontsize=9)
    for axes in places[len(panels) :]:
        axes.remove()
    names = [one_line(data_name(one)) for one in drawings]
    look = {"loc": "outside lower center", "ncols": 2 * across, "fontsize": 8, "frameon": False}
    figure.legend(list(drawings.values()), names, **look)
    return figure


def _arm(interval: Interval) -> float:
    return 0.0 if interval.high is None else interval.high - interval.mean
