"""Pictures of an answer: printed against ours, and how much of each claim is seen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..benchmark.printable import one_line
from ..benchmark.results import Report, TableResult
from ..benchmark.stats.intervals import Interval
from .figures import SHAPES, Mark, colour, drawn, marker
from .strips import printed_value

_LINE = "#9aa4ae"
_LEFT, _RIGHT = -1.0, 2.5
"""The ends of the axis of ratios; what lies beyond is an arrow at the edge."""
_WORDS = {
    "HOLDS": "#17693a",
    "SAME DIRECTION": "#3b6fb6",
    "OPPOSITE": "#a8261c",
    "ABSENT": "#8a5aa8",
    "OPEN": "#6b6b6b",
}


@dataclass(frozen=True)
class Point:
    """A cell in both worlds, in the unit of its table.

    Attributes:
        method: what it is drawn as; the label of its row.
        printed: the published value.
        ours: the mean of our trials.
        low: the lower end of its interval; the mean below two trials.
        high: the upper end.
    """

    method: str
    printed: float
    ours: float
    low: float
    high: float


def points(table: TableResult) -> list[Point]:
    """The cells of the metric that decides the table."""
    metric = table.answers[0].metric if table.answers else table.metric
    found = []
    for cell in table.cells:
        printed = printed_value(cell)
        if cell.metric == metric and printed is not None and cell.mean is not None:
            low, high = cell.interval or (cell.mean, cell.mean)
            found.append(Point(" ".join(cell.row), printed, cell.mean, low, high))
    return found


def marks(table: TableResult) -> list[Mark]:
    """What colours and shapes of `printed_against_ours` stand for."""
    names = dict.fromkeys(one.method for one in points(table))
    return [Mark(colour(i), SHAPES[marker(i)], name) for i, name in enumerate(names)]


def printed_against_ours(table: TableResult, form: str = "svg") -> bytes:
    """Our means with their intervals over the printed values, with the line of equal values.

    Empty where the table compares nothing. form: svg, png or pdf.
    """
    found = points(table) if table.answers else []
    return drawn(lambda: against(found, table.unit, form != "svg"), form) if found else b""


def against(found: Sequence[Point], unit: str | None, with_legend: bool) -> Figure:
    """Cells of a table as one drawing; a page makes the legend itself."""
    figure = Figure(figsize=(5.4, 3.8))
    axes = figure.add_axes((0.13, 0.14, 0.85, 0.83))
    shown = f" ({one_line(unit)})" if unit else ""
    axes.set(xlabel=f"published{shown}", ylabel=f"here{shown}")
    axes.grid()
    names = list(dict.fromkeys(one.method for one in found))
    drawings = []
    for i, name in enumerate(names):
        own = [one for one in found if one.method == name]
        x, y = [one.printed for one in own], [one.ours for one in own]
        reach = [[one.ours - one.low for one in own], [one.high - one.ours for one in own]]
        drawing = axes.errorbar(
            x, y, yerr=np.abs(reach), ls="", marker=marker(i), ms=5, color=colour(i), elinewidth=1
        )
        drawings.append(drawing)
    _line_of_equals(axes)
    if with_legend:
        # Named here, since a label of its own that begins with "_" is no entry of a legend.
        axes.legend(drawings, list(map(one_line, names)), fontsize=7)
    return figure


def _line_of_equals(axes: Axes) -> None:
    """Within what both axes show."""
    low = max(axes.get_xlim()[0], axes.get_ylim()[0])
    high = min(axes.get_xlim()[1], axes.get_ylim()[1])
    if low < high:
        axes.plot([low, high], [low, high], color=_LINE, lw=1, ls="--", zorder=0)


def claim_ratios(report: Report) -> bytes:
    """A line for each claim: how much of the printed difference is seen, with its interval.

    An SVG document; empty where no claim has a ratio.
    """
    lines = [
        (one_line(f"{table.id}: {claim.id}"), claim.word, ratio)
        for table in report.tables
        for claim in table.claims
        if (ratio := claim.answer.ratio) is not None
    ]
    return drawn(lambda: _ratios(lines)) if lines else b""


def _ratios(lines: Sequence[tuple[str, str, Interval]]) -> Figure:
    height = 0.9 + 0.2 * len(lines)
    figure = Figure(figsize=(7.6, height))
    axes = figure.add_axes((0.5, 0.5 / height, 0.48, 1 - 0.75 / height))
    for at, style in ((0.0, "-"), (0.5, ":"), (1.0, "--")):
        axes.axvline(at, color=_LINE, lw=1, ls=style, zorder=0)
    for line, (_, word, one) in enumerate(lines):
        shade = _WORDS.get(word, _WORDS["OPEN"])
        ends = np.clip(
            [one.mean if end is None else end for end in (one.low, one.high)], _LEFT, _RIGHT
        )
        axes.plot(ends, [line, line], color=shade, lw=1.5)
        inside = _LEFT <= one.mean <= _RIGHT
        mark = "o" if inside else (">" if one.mean > _RIGHT else "<")
        axes.plot([np.clip(one.mean, _LEFT, _RIGHT)], [line], marker=mark, ms=5, color=shade)
    axes.set(
        xlim=(_LEFT - 0.08, _RIGHT + 0.08),
        ylim=(len(lines) - 0.4, -0.6),
        xlabel="difference here, as a multiple of the published one",
        yticks=range(len(lines)),
    )
    axes.set_yticklabels([name for name, _, _ in lines], fontsize=7)
    return figure
