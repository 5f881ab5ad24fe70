"""A small drawing of a cell: its trials on their interval, and the printed value."""

from collections.abc import Mapping
from typing import NamedTuple

from markupsafe import Markup

from ..benchmark.results import CellResult, TableResult
from ..benchmark.spec.printed import Printed

WIDTH, HEIGHT = 96, 12
_EDGE = 5


class Scale(NamedTuple):
    """An axis from `low` to `high`, in the unit of the cells."""

    low: float
    high: float

    def x(self, value: float) -> str:
        """The place of a value as a drawing names it, kept inside."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        place = _EDGE + min(max(share, 0.0), 1.0) * (WIDTH - 2 * _EDGE)
        return f"{place:.1f}".removesuffix(".0")


Scales = Mapping[tuple[str | None, str | None], Scale]
"""By metric and unit, the axis that the cells of one table share."""


def printed_value(cell: CellResult) -> float | None:
    """The printed number, None where no number is printed."""
    value = Printed.parse(cell.published).value
    return None if value is None else float(value)


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
    view = f'class="dots" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true"'
    return Markup(f"<svg {view}>{''.join(shapes)}</svg>")
