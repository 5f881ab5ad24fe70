"""Can printed standard deviations be those of accuracies of whole images? (GRIMMER, DEBIT, SPRITE)

Where the number of test images and of runs is stated, mean and SD must come from n accuracies on
that grid, and a sample that gives them is shown. Where only the number of values is, the SD must be
one that values from 0 to 100 % can have. See `benchmark.audit.shares` for the equations.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ...spec import settings
from ...spec.model import Cell, Paper
from ..findings import Finding, finding
from ..identity import grouped, numbers
from ..rounding import interval, rounded
from ..shares import Asked, is_possible, largest_sd, sample
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

    @property
    def asked(self) -> list[Asked]:
        """The questions of each kind of SD, where the number of images is known."""
        mean, sd = interval(self.mean.printed), rounded(self.sd)
        n = self.images
        return [] if n is None else [Asked(mean, sd, n, self.runs, ddof) for ddof in self.ddofs]

    @property
    def fits(self) -> bool:
        """Whether some kind of SD is possible."""
        if self.images is not None:
            return any(map(is_possible, self.asked))
        return float(rounded(self.sd)[0]) <= self.limit * (1 + 1e-12)

    @property
    def limit(self) -> float:
        """The largest possible SD, whatever the grid."""
        ddof = max(self.ddofs) if self.runs > 1 else 0
        return largest_sd(interval(self.mean.printed), self.runs, ddof)


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each table with spreads of accuracies, and one for each impossible one."""
    spreads = (*_over_runs(paper), *_over_clients(paper))
    for found in grouped(spreads, lambda one: (one.mean.table, one.images)).values():
        fitting = [one for one in found if one.fits]
        off = [one for one in found if one not in fitting]
        # Most spreads of a table off the grid speak against the grid, not against them.
        doubtful = 2 * len(off) >= len(found) and found[0].images is not None and len(found) > 1
        yield from (_impossible(one, doubtful) for one in off)
        yield _table(found, fitting)


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
        metric = one.cell.metric or ""
        key: tuple[object, ...] = (
            one.cell.table,
            one.experiment,
            one.round,
            metric.removesuffix(BY_CLIENT),
        )
        if metric in SHARES:
            means[key] = one.cell
        elif key[-1] in SHARES:
            spreads.append((key, one.cell))
    for key, cell in spreads:
        mean, clients = means.get(key), settings.get(cell.experiment, "clients.count")
        if mean is not None and isinstance(clients, int) and clients > 1:
            yield Spread(mean, cell.printed.value or Decimal(0), clients, None, DDOFS, cell)


def _impossible(one: Spread, doubtful: bool) -> Finding:
    cell, near = one.mean, [_near(asked, Fraction(one.sd)) for asked in one.asked]
    return finding(
        (KIND, cell.table, *cell.row, *cell.column),
        (cell, one.spread),
        statement=f"Table {cell.table}, {cell.label}: mean and standard deviation are those of "
        f"{'' if one.images else f'{one.runs} '}{_values(one)}."
        + (" So are most others not: the number of images may differ." * doubtful),
        published=f"{cell.printed.text} ± {one.sd}",
        computed="; ".join(near) or f"the SD is at most {one.limit:.4g}",
        status="undecidable" if doubtful else "inconsistent",
    )


def _values(one: Spread) -> str:
    if one.images is None:
        return "values from 0 to 100 %"
    return f"{one.runs} accuracies on {one.images} test images"


def _near(asked: Asked, sd: Fraction) -> str:
    """The SD nearest to the printed one, of all sums that give the mean."""
    n, images = asked.runs, asked.images
    first, last = (end * images * n / 100 for end in asked.mean)
    near = []
    for total in range(math.ceil(first), math.floor(last) + 1):
        target = (sd * images / 100) ** 2 * (n - asked.ddof) + Fraction(total**2, n)
        below = math.floor(target) - (math.floor(target) - total) % 2
        for square in (below, below + 2):
            variance = (square - Fraction(total**2, n)) / (n - asked.ddof)
            if variance >= 0:
                shown = 100 * math.sqrt(variance) / images
                near.append((abs(square - target), total, square, shown))
    if not near:
        return f"no whole number of {images * n} images gives the mean"
    _, total, square, shown = min(near)
    return (
        f"ddof {asked.ddof}: sum {total} of {images * n} images, squares {square}: the nearest SD "
        f"is {shown:.4f}"
    )


def _table(found: Sequence[Spread], fitting: Sequence[Spread]) -> Finding:
    first = found[0]
    return finding(
        (KIND, first.mean.table, str(first.images or "bound")),
        (cell for one in fitting for cell in (one.mean, one.spread)),
        statement=f"Table {first.mean.table}: means and standard deviations are those of "
        f"{_values(first)}.",
        published=f"{len(found)} means with standard deviation",
        computed=f"{len(fitting)} of {len(found)} can" + _example(fitting),
        status="consistent" if 2 * len(fitting) > len(found) or len(found) == 1 else "undecidable",
    )


def _example(fitting: Sequence[Spread]) -> str:
    for one in fitting:
        if one.images is None:
            return f"; {one.mean.printed.text} ± {one.sd} is below the largest, {one.limit:.4g}"
        example = next(filter(None, map(sample, one.asked)), None)
        if example is not None:
            values = ", ".join(f"{100 * k / one.images:.2f}" for k in example)
            return f"; {one.mean.printed} is that of {values}, for example"
    return ""
