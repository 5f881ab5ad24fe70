"""Do accuracies lie on the grid that their number of test images allows? (GRIM)

An accuracy pooled over n test images is k / n, also as the mean over clients with equally many
each. Averaged over r runs it is k / (r n). Where that is coarser than the printed digits, a
misprint shows (Brown and Heathers, The GRIM test, 2017).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache

from ...claims.printed import ExactRange
from ...spec import settings
from ...spec.model import Cell, Paper
from ...spec.printed import RULES, half_unit
from ..findings import Finding, finding
from ..identity import numbers
from ..rounding import interval, places_of

KIND = "granularity"
SHARES = ("accuracy", "clustering_accuracy")
"""Metrics that count images; others do not lie on a grid."""
MOST_PLACES = 4
"""Values with more decimals are passed over: no test set's grid is coarser than these."""


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each number of test images in a table, and one for each value off grid."""
    known: dict[tuple[str, int, int], list[Cell]] = defaultdict(list)
    for cell in (one.cell for one in numbers(paper)):
        places = places_of(cell.printed)
        counts = cell.metric in SHARES and cell.unit == "%" and cell.kind == "empirical"
        if not counts or places > MOST_PLACES:
            continue
        is_mean = cell.trial is None and cell.printed.sd is not None
        # Test images over clients and runs; 0 where that is not known.
        runs = (paper.table(cell.table).sd.runs or 0) if is_mean else 1
        steps = math.prod(clients_and_size(cell)) * runs
        if steps > 0 and share_on_grid(steps, places) < 1:
            known[cell.table, steps, places].append(cell)
    for (_, steps, _), cells in known.items():
        yield from _of_table(steps, cells)


def on_grid(value: ExactRange, steps: int, reached: tuple[bool, bool] = (True, True)) -> bool:
    """Whether a percentage can be k / `steps`. `reached`: whether the ends of `value` count."""
    low, high = (end * steps / 100 for end in value)
    first, last = math.ceil(low), math.floor(high)
    first += first == low and not reached[0]
    last -= last == high and not reached[1]
    return first <= last


@cache
def share_on_grid(steps: int, places: int) -> Fraction:
    """The share of percentages with so many decimals on the grid; 1 if it says nothing of them."""
    unit = 10**places
    # Both grids repeat after a common divisor of their steps.
    period = 100 * unit // math.gcd(100 * unit, steps)
    # The last k below the upper end is above the lower one; of the numbers i / unit, in halves.
    hits = sum((2 * i + 1) * steps % (200 * unit) <= 2 * steps for i in range(period))
    return Fraction(hits, period)


def _of_table(steps: int, cells: Sequence[Cell]) -> Iterator[Finding]:
    rest = [cell for cell in cells if _on_grid(cell, steps)]
    off = [cell for cell in cells if cell not in rest]
    clients, size = clients_and_size(cells[0])
    runs = steps // (clients * size)
    images = f"{clients} x {size} test images" + (f" in {runs} runs" if runs > 1 else "")
    explained = len(off) < len(rest)
    if explained:
        others = f"as are {len(rest)} of the {len(cells)} such values of the table"
        yield from (_value(cell, steps, images, others) for cell in off)
    more = ""
    if len(rest) > 2:
        values, each = [interval(one.printed) for one in rest], clients * runs
        fits = (n for n in range(1, size) if all(on_grid(value, each * n) for value in values))
        more = f"; the fewest test images per client that give these are {next(fits, size)}"
    doubt = "" if explained else " So many are not that the number of test images is in doubt."
    by_chance = float(share_on_grid(steps, places_of(cells[0].printed))) * len(cells)
    yield finding(
        (KIND, cells[0].table, f"{clients}-clients", str(steps)),
        rest if explained else cells,
        statement=f"Table {cells[0].table}: accuracies on {images} are multiples of 1/{steps}."
        f"{doubt}",
        published=cells[0].printed.text + (f" and {len(cells) - 1} more" if len(cells) > 1 else ""),
        computed=f"{len(rest)} of {len(cells)} are multiples of 1/{steps}, "
        f"about {by_chance:.1f} would be by chance{more}",
        status="consistent" if explained else "undecidable",
    )


def _value(cell: Cell, steps: int, images: str, others: str) -> Finding:
    value, places = cell.printed.value or Decimal(0), places_of(cell.printed) + 2
    k = math.floor(Fraction(value) * steps / 100)
    below, above = (Fraction(100 * near, steps) for near in (k, k + 1))
    low, high = interval(cell.printed)
    cut_off = ""
    if above < Fraction(value) + 2 * Fraction(half_unit(value)):
        cut_off = " Cut off instead of rounded, the multiple above would give the published value."
    return finding(
        (KIND, cell.table, *cell.row, *cell.column),
        (cell,),
        statement=f"Table {cell.table}, {cell.label}: an accuracy on {images} is a multiple of "
        f"1/{steps}, {others}.{cut_off}",
        published=f"{cell.printed.text}, which stands for {float(low):g} to {float(high):g}",
        computed=f"{k}/{steps} = {float(below):.{places}f} and "
        f"{k + 1}/{steps} = {float(above):.{places}f}",
        status="inconsistent",
    )


def _on_grid(cell: Cell, steps: int) -> bool:
    value = interval(cell.printed)
    return any(on_grid(value, steps, cell.closed_ends(rule)) for rule in RULES)


def clients_and_size(cell: Cell) -> tuple[int, int]:
    """Clients, and test images of each; 0 where that is not known."""
    paths = ("clients.count", "clients.test_size")
    count, size = (settings.get(cell.experiment, path) for path in paths)
    return (count, size) if isinstance(count, int) and isinstance(size, int) else (0, 0)
