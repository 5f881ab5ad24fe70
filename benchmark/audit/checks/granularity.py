"""Do accuracies lie on the grid that their number of test images allows? (GRIM)

An accuracy pooled over n test images is k / n, also as the mean over clients with equally many
each; averaged over r runs it is k / (r n). Where that is coarser than the printed digits, a
misprint shows. Where the number of images is not given, the least one that explains a table's
values may still tell that one does not belong (Brown and Heathers, The GRIM test, 2017).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...claims.printed import Interval
from ...spec import settings
from ...spec.model import Cell, Paper
from ...spec.printed import RULES, half_unit
from ..findings import Finding, Status, finding
from ..identity import numbers
from ..rounding import interval, places_of, show

KIND = "granularity"
SHARES = ("accuracy", "clustering_accuracy")
"""Metrics that count images; others do not lie on a grid."""
CHANCE = 1e-3
"""A grid that nobody states must not explain that many values by chance oftener than this."""
FEWEST = 8
"""Fewer values than this say nothing about a grid that nobody states."""
MOST_PLACES = 4
"""Values with more decimals are passed over: no test set's grid is coarser than these."""


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each number of test images in a table, and one for each value off grid."""
    stated: dict[tuple[str, int, int], list[Cell]] = defaultdict(list)
    unstated: dict[tuple[str, int], list[Cell]] = defaultdict(list)
    for cell in (one.cell for one in numbers(paper)):
        places = places_of(cell.printed)
        counts = cell.metric in SHARES and cell.unit == "%" and cell.kind == "empirical"
        if not counts or places > MOST_PLACES:
            continue
        steps = steps_of(cell, paper)
        if steps is not None and share_on_grid(steps, places) < 1:
            stated[cell.table, steps, places].append(cell)
        elif steps is None and cell.printed.sd is None:
            unstated[cell.table, places].append(cell)
    for (_, steps, _), cells in stated.items():
        yield from _stated(steps, cells)
    for cells in unstated.values():
        yield from _unstated(cells)


def steps_of(cell: Cell, paper: Paper) -> int | None:
    """How many test images are behind a cell, over clients and runs; None if that is not known."""
    images = math.prod(clients_and_size(cell))
    if images < 1:
        return None
    if cell.trial is None and cell.printed.sd is not None:
        runs = paper.table(cell.table).sd.runs
        return None if runs is None else images * runs
    return images


def fewest_images(cells: Sequence[Cell], clients: int = 1, spare: int = 0) -> Mapping[int, int]:
    """By how many values are left out, up to `spare`, the fewest images that explain the others.

    Images are test images per client, on grids coarser than the printed digits.
    """
    end = -(-100 * 10 ** places_of(cells[0].printed) // clients)
    images = np.arange(1, end)
    off = np.zeros(len(images), int)
    for cell in cells:
        if len(images):
            off = off + off_grids(interval(cell.printed), clients * images)
            images, off = images[off <= spare], off[off <= spare]
    outs = [out for out in range(spare + 1) if (off <= out).any()]
    return {out: int(images[off <= out][0]) for out in outs}


def on_grid(value: Interval, steps: int, reached: tuple[bool, bool] = (True, True)) -> bool:
    """Whether a percentage can be k / `steps`. reached: whether its ends print so, too."""
    low, high = (end * steps / 100 for end in value)
    first, last = math.ceil(low), math.floor(high)
    first += first == low and not reached[0]
    last -= last == high and not reached[1]
    return first <= last


def off_grids(value: Interval, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each n of `steps`, rising, whether a percentage that prints so cannot be k / n."""
    unit = math.lcm(*(end.denominator for end in value))
    low, high = (int(end * unit) for end in value)
    # Python's numbers where those of the processor are too short.
    short = 100 * unit * int(steps[-1]) < 2**62
    many: NDArray[Any] = steps.astype(np.int64 if short else object)
    # The last k below the upper end is below the lower one: one division instead of two.
    off = high % (100 * unit) * many % (100 * unit) > (high - low) * many
    return np.asarray(off, dtype=bool)


@cache
def share_on_grid(steps: int, places: int) -> Fraction:
    """The share of percentages with so many decimals on the grid; 1 if it says nothing of them."""
    unit = 10**places
    # Both grids repeat after a common divisor of their steps.
    period = 100 * unit // math.gcd(100 * unit, steps)
    # As in `off_grids`, for the numbers i / unit, in half units.
    hits = sum((2 * i + 1) * steps % (200 * unit) <= 2 * steps for i in range(period))
    return Fraction(hits, period)


def _stated(steps: int, cells: Sequence[Cell]) -> Iterator[Finding]:
    off, rest = _divided(cells, steps)
    clients, size = clients_and_size(cells[0])
    runs = steps // (clients * size)
    images = f"{clients} x {size} test images" + (f" in {runs} runs" if runs > 1 else "")
    explained = len(off) < len(rest)
    if explained:
        others = f"as are {len(rest)} of the {len(cells)} such values of the table"
        yield from (_value(cell, steps, f"an accuracy on {images}", others) for cell in off)
    fewest = fewest_images(rest, clients * runs).get(0) if len(rest) > 2 else None
    more = f"; the fewest test images per client that give these are {fewest}" if fewest else ""
    doubt = "" if explained else " So many are not that the number of test images is in doubt."
    yield finding(
        (KIND, cells[0].table, f"{clients}-clients", str(steps)),
        rest if explained else cells,
        statement=f"Table {cells[0].table}: accuracies on {images} are multiples of 1/{steps}."
        f"{doubt}",
        published=_listed(cells),
        computed=_counted(rest, cells, steps) + more,
        status="consistent" if explained else "undecidable",
    )


def _unstated(cells: Sequence[Cell]) -> Iterator[Finding]:
    """The grid of a table whose number of test images is not known, if there clearly is one."""
    if len(cells) < FEWEST:
        return
    found = fewest_images(cells, spare=1)
    chances = {steps: _by_chance(cells, steps, out) for out, steps in sorted(found.items())}
    if not chances or min(chances.values()) > CHANCE:
        return
    steps = min(chances, key=lambda one: chances[one])
    off, rest = _divided(cells, steps)
    others = f"as are the other {len(rest)} values of the table"
    for cell in off:
        yield _value(cell, steps, "an accuracy of this table", others, "undecidable")
    yield finding(
        (KIND, cells[0].table, str(steps)),
        rest,
        statement=f"Table {cells[0].table}: accuracies are multiples of 1/{steps}, though the "
        "paper does not give the number of test images.",
        published=_listed(cells),
        computed=_counted(rest, cells, steps),
        status="consistent",
    )


def _by_chance(cells: Sequence[Cell], steps: int, spare: int) -> float:
    """A bound on the chance that some grid up to `steps` explains all values but `spare`."""
    share = float(share_on_grid(steps, places_of(cells[0].printed)))
    return float(steps * share ** (len(cells) - spare) * len(cells) ** spare)


def _value(
    cell: Cell, steps: int, what: str, others: str, status: Status = "inconsistent"
) -> Finding:
    value, places = cell.printed.value or Decimal(0), places_of(cell.printed) + 2
    k = math.floor(Fraction(value) * steps / 100)
    below, above = (Fraction(100 * near, steps) for near in (k, k + 1))
    low, high = interval(cell.printed)
    cut_off = ""
    if above < Fraction(value) + 2 * Fraction(half_unit(value)):
        cut_off = " Cut off instead of rounded, the multiple above would print so."
    return finding(
        (KIND, cell.table, *cell.row, *cell.column),
        (cell,),
        statement=f"Table {cell.table}, {cell.label}: {what} is a multiple of 1/{steps}, {others}."
        f"{cut_off}",
        published=f"{cell.printed.text}, which stands for {float(low):g} to {float(high):g}",
        computed=f"{k}/{steps} = {show(below, places)} and {k + 1}/{steps} = {show(above, places)}",
        status=status,
    )


def _divided(cells: Sequence[Cell], steps: int) -> tuple[list[Cell], list[Cell]]:
    """The cells off the grid, and those on it."""
    sides: tuple[list[Cell], list[Cell]] = ([], [])
    for cell in cells:
        value = interval(cell.printed)
        sides[any(on_grid(value, steps, cell.closed_ends(rule)) for rule in RULES)].append(cell)
    return sides


def _counted(rest: Sequence[Cell], cells: Sequence[Cell], steps: int) -> str:
    by_chance = float(share_on_grid(steps, places_of(cells[0].printed))) * len(cells)
    return (
        f"{len(rest)} of {len(cells)} are multiples of 1/{steps}, "
        f"about {by_chance:.1f} would be by chance"
    )


def _listed(cells: Sequence[Cell]) -> str:
    first = cells[0].printed.text
    return first if len(cells) == 1 else f"{first} and {len(cells) - 1} more"


def clients_and_size(cell: Cell) -> tuple[int, int]:
    """Clients, and test images of each; 0 where that is not known."""
    paths = ("clients.count", "clients.test_size")
    count, size = (settings.get(cell.experiment, path) for path in paths)
    return (count, size) if isinstance(count, int) and isinstance(size, int) else (0, 0)
