"""Small drawings of one cell each: its trials on their interval, its difference on the margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..benchmark.results import CellResult, TableResult

WIDTH, HEIGHT = 96, 12
_EDGE = 5
_FOREST_WIDTH = 240
_LEAST, _MOST = 2.0, 8.0


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, in the unit of the cells."""

    low: float
    high: float

    def x(self, value: float, width: int = WIDTH) -> str:
        """The place of a value as a drawing names it, kept inside."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        place = _EDGE + min(max(share, 0.0), 1.0) * (width - 2 * _EDGE)
        return f"{place:.1f}".removesuffix(".0")


Scales = Mapping[tuple[str | None, str | None], Scale]
"""By metric and unit, the axis that the cells of one table share."""


def printed_value(cell: CellResult) -> float | None:
    """The printed number, None where no number is printed."""
    try:
        return float(cell.published.replace("≈", "").replace(",", "").strip())
    except ValueError:
        return None


def scales(table: TableResult) -> Scales:
    """One axis for all measured cells of a table with one metric, so that eyes can compare them."""
    found: dict[tuple[str | None, str | None], list[float]] = {}
    for cell in table.cells:
        if cell.mean is not None:
            values = (*cell.trials, printed_value(cell), *(cell.interval or ()))
            shown = found.setdefault((cell.metric, cell.unit), [])
            shown += (value for value in values if value is not None)
    return {kind: Scale(min(values), max(values)) for kind, values in found.items()}


def dots(cell: CellResult, scales: Scales) -> Markup:
    """Trials as dots, their 95 % interval as a bar, the printed value as a tall tick."""
    values = [value for value in cell.trials if value is not None]
    if not values:
        return Markup("")
    scale, middle = scales[cell.metric, cell.unit], HEIGHT // 2
    low, high = cell.interval or (min(values), max(values))
    target = printed_value(cell)
    shapes = [
        f'<path class="bar" d="M{scale.x(low)} {middle}H{scale.x(high)}"/>',
        '<path class="dot" d="' + "".join(f"M{scale.x(v)} {middle}h0" for v in values) + '"/>',
    ]
    if target is not None:
        shapes.append(f'<path class="tick" d="M{scale.x(target)} 0V{HEIGHT}"/>')
    return _svg("dots", WIDTH, shapes)


@dataclass(frozen=True)
class Effect:
    """A cell's difference from the print in units of its margin.

    low, high: the 90 % interval of the difference where the cell was judged, else the 95 %
    interval of the mean moved by the print.
    """

    cell: CellResult
    low: float
    middle: float
    high: float


def effects(table: TableResult) -> list[Effect]:
    """The differences of the cells that have a margin and a mean, in the order of the table."""
    found = []
    for cell in table.cells:
        target, margin = printed_value(cell), cell.margin
        if margin is None or cell.mean is None or target is None:
            continue
        difference = cell.verdict.difference
        middle = cell.mean - target if difference is None else difference
        low, high = cell.verdict.interval or (
            end - target for end in cell.interval or (cell.mean, cell.mean)
        )
        found.append(Effect(cell, low / margin, middle / margin, high / margin))
    return found


def forest_limit(effects: Sequence[Effect]) -> float:
    """How many margins the axis of a forest plot reaches to either side."""
    farthest = max((abs(one.middle) for one in effects), default=_LEAST)
    return min(max(farthest * 1.15, _LEAST), _MOST)


def forest(effect: Effect, limit: float) -> Markup:
    """One line of a forest plot; what lies beyond `limit` is an arrow at the edge."""
    scale, middle = Scale(-limit, limit), HEIGHT // 2

    def x(value: float) -> str:
        return scale.x(value, _FOREST_WIDTH)

    shapes = [
        f'<path class="zone" d="M{x(-1)} {middle}H{x(1)}"/>',
        f'<path class="zero" d="M{x(0)} 0V{HEIGHT}"/>',
        f'<path class="bar" d="M{x(effect.low)} {middle}H{x(effect.high)}"/>',
    ]
    if abs(effect.middle) <= limit:
        shapes.append(f'<path class="dot" d="M{x(effect.middle)} {middle}h0"/>')
    else:
        tip, back = (_FOREST_WIDTH - 1, -5) if effect.middle > 0 else (1, 5)
        shapes.append(f'<path class="beyond" d="M{tip} {middle}l{back} -4v8z"/>')
    return _svg("forest", _FOREST_WIDTH, shapes)


def _svg(name: str, width: int, shapes: Sequence[str]) -> Markup:
    drawn = "".join(shapes)
    return Markup(
        f'<svg class="{name}" viewBox="0 0 {width} {HEIGHT}" aria-hidden="true">{drawn}</svg>'
    )
