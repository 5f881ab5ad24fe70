"""Can printed standard deviations be those of accuracies of whole images? (GRIMMER, DEBIT, SPRITE)

Where the number of test images and of runs is stated, mean and SD must come from n accuracies on
that grid, and a sample that gives them is shown. Where only the number of values is, the SD must be
one that values from 0 to 100 % can have. See `benchmark.audit.samples` for the equations.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ...spec import settings
from ...spec.model import Cell, Paper
from ..findings import Finding, finding
from ..identity import numbers
from ..rounding import interval, rounded
from ..samples import Asked, is_possible, largest_sd, sample
from .granularity import SHARES, clients_and_size

KIND = "spread-grid"
DDOFS = (0, 1)
BY_CLIENT = "_sd"
"""Behind a metric: its spread over clients, printed as a number of its own."""


@dataclass(frozen=True)
class Spread:
    """A mean with its SD, the number of values, and the test images of each (None: not known)."""

    mean: Cell
    sd: Decimal
    runs: int
    images: int | None
    ddofs: tuple[int, ...]
    spread: Cell

    def asked(self, ddof: int) -> Asked:
        """The question, with one kind of SD."""
        assert self.images is not None
        low, high = rounded(self.sd)
        return Asked(interval(self.mean.printed), (low, high), self.images, self.runs, ddof)

    @property
    def fits(self) -> bool:
        """Whether some kind of SD is possible."""
        if self.images is not None:
            return any(is_possible(self.asked(ddof)) for ddof in self.ddofs)
        return float(rounded(self.sd)[0]) <= self.limit * (1 + 1e-12)

    @property
    def limit(self) -> float:
        """The largest possible SD, whatever the grid."""
        ddof = max(self.ddofs) if self.runs > 1 else 0
        return largest_sd(interval(self.mean.printed), self.runs, ddof)

    @property
    def example(self) -> tuple[int, ...] | None:
        """A sample that prints so, in images."""
        if self.images is None:
            return None
        return next(filter(None, (sample(self.asked(ddof)) for ddof in self.ddofs)), None)


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each table with spreads of accuracies, and one for each impossible one."""
    tables: dict[tuple[str, int | None], list[Spread]] = defaultdict(list)
    for one in (*_over_runs(paper), *_over_clients(paper)):
        tables[one.mean.table, one.images].append(one)
    for found in tables.values():
        off = [one for one in found if not one.fits]
        # Most spreads of a table off the grid speak against the grid, not against them.
        doubtful = 2 * len(off) >= len(found) and found[0].images is not None and len(found) > 1
        yield from (_impossible(paper, one, doubtful) for one in off)
        yield _table(paper, found, off)


def _over_runs(paper: Paper) -> Iterator[Spread]:
    for cell in (one.cell for one in numbers(paper)):
        table, sd = paper.table(cell.table), cell.printed.sd
        runs = table.sd.runs
        if sd is None or runs is None or runs < 2 or cell.trial is not None:
            continue
        if cell.metric in SHARES and cell.unit == "%":
            images = math.prod(clients_and_size(cell)) or None
            ddofs = DDOFS if table.sd.ddof is None else (table.sd.ddof,)
            yield Spread(cell, sd, runs, images, ddofs, cell)


def _over_clients(paper: Paper) -> Iterator[Spread]:
    """Means and spreads over clients, in cells of their own."""
    means: dict[tuple[object, ...], Cell] = {}
    spreads: list[tuple[tuple[object, ...], Cell]] = []
    for one in numbers(paper):
        place = one.cell.table, one.experiment, one.round
        if one.cell.metric in SHARES:
            means[(*place, one.cell.metric)] = one.cell
        elif (one.cell.metric or "").removesuffix(BY_CLIENT) in SHARES:
            spreads.append(((*place, (one.cell.metric or "").removesuffix(BY_CLIENT)), one.cell))
    for key, cell in spreads:
        mean, clients = means.get(key), settings.get(cell.experiment, "clients.count")
        if mean is not None and isinstance(clients, int) and clients > 1:
            assert cell.printed.value is not None
            yield Spread(mean, cell.printed.value, clients, None, DDOFS, cell)


def _impossible(paper: Paper, one: Spread, doubtful: bool) -> Finding:
    cell = one.mean
    if one.images is None:
        what = f"{one.runs} values from 0 to 100 %"
        computed = f"the SD is at most {one.limit:.4g}"
    else:
        what = f"{one.runs} accuracies on {one.images} test images"
        computed = "; ".join(_near(one, ddof) for ddof in one.ddofs)
    return finding(
        paper,
        KIND,
        (cell.table, *cell.row, *cell.column),
        (cell, one.spread),
        statement=f"Table {cell.table}, {cell.label}: mean and standard deviation are those of "
        f"{what}." + (" So are most others not: the number of images may differ." * doubtful),
        published=f"{cell.printed.text} ± {one.sd}",
        computed=computed,
        status="undecidable" if doubtful else "inconsistent",
    )


def _near(one: Spread, ddof: int) -> str:
    """The SDs nearest to the printed one, of all sums that give the mean."""
    asked = one.asked(ddof)
    n, images = one.runs, asked.images
    first, last = (end * images * n / 100 for end in asked.mean)
    totals = range(math.ceil(first), math.floor(last) + 1)
    if not totals:
        return f"no whole number of {images * n} images gives the mean"
    near = []
    for total in totals:
        target = (Fraction(one.sd) * images / 100) ** 2 * (n - ddof) + Fraction(total**2, n)
        below = math.floor(target) - (math.floor(target) - total) % 2
        for square in (below, below + 2):
            variance = (square - Fraction(total**2, n)) / (n - ddof)
            if variance >= 0:
                near.append(
                    (abs(square - target), total, square, 100 * math.sqrt(variance) / images)
                )
    _, total, square, sd = min(near)
    return (
        f"ddof {ddof}: sum {total} of {images * n} images, squares {square}: the nearest SD is "
        f"{sd:.4f}"
    )


def _table(paper: Paper, found: Sequence[Spread], off: Sequence[Spread]) -> Finding:
    fitting = [one for one in found if one not in off]
    first = found[0]
    what = (
        f"{first.runs} accuracies on {first.images} test images"
        if first.images is not None
        else "values from 0 to 100 %"
    )
    return finding(
        paper,
        KIND,
        (first.mean.table, str(first.images or "bound")),
        (cell for one in fitting for cell in (one.mean, one.spread)),
        statement=f"Table {first.mean.table}: means and standard deviations are those of {what}.",
        published=f"{len(found)} means with standard deviation",
        computed=f"{len(fitting)} of {len(found)} can" + _example(fitting),
        status="consistent" if 2 * len(fitting) > len(found) or len(found) == 1 else "undecidable",
    )


def _example(fitting: Sequence[Spread]) -> str:
    for one in fitting:
        example = one.example
        if example is not None and one.images is not None:
            values = ", ".join(f"{100 * k / one.images:.2f}" for k in example)
            return f"; {one.mean.printed} is that of {values}, for example"
        if one.images is None:
            return f"; {one.mean.printed.text} ± {one.sd} is below the largest, {one.limit:.4g}"
    return ""
