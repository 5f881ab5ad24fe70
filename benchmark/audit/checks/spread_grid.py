"""Can printed standard deviations be those of accuracies of whole images? (GRIMMER, DEBIT)

With N images an accuracy is x = 100 k / N, k whole. S = sum(k) and Q = sum(k^2) give the mean 100 S
/ (N n) and the variance (100 / N)^2 (Q - S^2 / n) / (n - ddof). GRIM (Brown and Heathers 2017):
some whole S gives the mean. GRIMMER (Anaya 2016; Allard 2018): for one of these, some whole Q gives
the SD. Q is odd where S is. It lies between that of n equal values and that of values at the ends.
DEBIT (Heathers and Brown 2019) is N = 1: Q = S. For any N, also an unknown one, the SD is at most
the square root of m (100 - m) n / (n - ddof) (Bhatia and Davis 2000).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ...claims.printed import ExactRange
from ...spec import settings
from ...spec.model import Cell, Paper
from ..findings import Finding, finding
from ..identity import grouped, numbers
from ..rounding import DDOFS, interval, rounded
from .granularity import SHARES, clients_and_size

KIND = "spread-grid"
BY_CLIENT = "_sd"
"""The end of the name of a metric that is another metric's spread over clients."""
MOST_SUMS = 2_000
"""More whole sums than this behind one printed mean always give its SD: the grid is too fine."""


@dataclass(frozen=True)
class Asked:
    """A printed mean and SD in percent, n values on multiples of 1 / images, and the SD's ddof."""

    mean: ExactRange
    sd: ExactRange
    images: int
    runs: int
    ddof: int

    @property
    def totals(self) -> range:
        """The whole numbers of images in all values together that give the mean (GRIM)."""
        scale = Fraction(self.images * self.runs, 100)
        first, last = math.ceil(self.mean[0] * scale), math.floor(self.mean[1] * scale)
        return range(max(0, first), min(self.images * self.runs, last) + 1)

    def square(self, sd: Fraction, total: int) -> Fraction:
        """The sum of squares, in images, that gives this SD in percent with the sum `total`."""
        deviations = (sd * self.images / 100) ** 2 * (self.runs - self.ddof)
        return deviations + Fraction(total**2, self.runs)


@dataclass(frozen=True)
class MeanWithSd:
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
        n, ddofs = self.images or 0, self.ddofs if self.images else ()
        return [Asked(mean, sd, n, self.runs, ddof) for ddof in ddofs]

    @property
    def fits(self) -> bool:
        if self.images is None:
            return float(rounded(self.sd)[0]) <= self.limit * (1 + 1e-12)
        return any(map(is_possible, self.asked))

    @property
    def limit(self) -> float:
        ddof = max(self.ddofs) if self.runs > 1 else 0
        return largest_sd(interval(self.mean.printed), self.runs, ddof)


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each table with spreads of accuracies, and one for each impossible one."""
    spreads = (*_over_runs(paper), *_over_clients(paper))
    for (table, _), found in grouped(spreads, lambda one: (one.mean.table, one.images)).items():
        fitting = [one for one in found if one.fits]
        off = [one for one in found if one not in fitting]
        first, is_alone = found[0], len(found) == 1
        # Most spreads of a table off the grid speak against the grid, not against them.
        doubtful = 2 * len(off) >= len(found) and first.images is not None and not is_alone
        values, runs, largest = f"accuracies on {first.images} test images", f"{first.runs} ", ""
        if first.images is None:
            values, runs = "values from 0 to 100 %", ""
            for one in fitting[:1]:
                shown = f"{one.mean.printed.text} ± {one.sd}"
                largest = f"; {shown} is below the largest, {one.limit:.4g}"
        for one in off:
            cell, near = one.mean, [_near(asked, Fraction(one.sd)) for asked in one.asked]
            yield finding(
                (KIND, cell.table, *cell.row, *cell.column),
                (cell, one.spread),
                statement=f"Table {table}, {cell.label}: mean and standard deviation are those of "
                f"{one.runs} {values}."
                + (" So are most others not: the number of images may differ." * doubtful),
                published=f"{cell.printed.text} ± {one.sd}",
                computed="; ".join(near) or f"the SD is at most {one.limit:.4g}",
                status="undecidable" if doubtful else "inconsistent",
            )
        yield finding(
            (KIND, table, str(first.images or "bound")),
            (cell for one in fitting for cell in (one.mean, one.spread)),
            statement=f"Table {table}: means and standard deviations are those of {runs}{values}.",
            published=f"{len(found)} means with standard deviation",
            computed=f"{len(fitting)} of {len(found)} can{largest}",
            status="consistent" if 2 * len(fitting) > len(found) or is_alone else "undecidable",
        )


def _over_runs(paper: Paper) -> Iterator[MeanWithSd]:
    for cell in (one.cell for one in numbers(paper)):
        table, sd = paper.table(cell.table), cell.printed.sd
        runs = table.sd.runs
        if sd is None or runs is None or runs < 2 or cell.trial is not None:
            continue
        if cell.metric in SHARES and cell.unit == "%":
            images = math.prod(clients_and_size(cell)) or None
            ddofs = DDOFS if table.sd.ddof is None else (table.sd.ddof,)
            yield MeanWithSd(cell, sd, runs, images, ddofs, cell)


def _over_clients(paper: Paper) -> Iterator[MeanWithSd]:
    """Means and spreads over clients, in cells of their own."""
    known: dict[tuple[object, ...], Cell] = {}
    for one in numbers(paper):
        known[one.cell.table, one.experiment, one.round, one.cell.metric or ""] = one.cell
    for (*place, metric), cell in known.items():
        mean_of = str(metric).removesuffix(BY_CLIENT)
        mean, clients = known.get((*place, mean_of)), settings.get(cell.experiment, "clients.count")
        is_spread = mean_of != metric and mean_of in SHARES
        if is_spread and mean is not None and isinstance(clients, int) and clients > 1:
            yield MeanWithSd(mean, cell.printed.value or Decimal(0), clients, None, DDOFS, cell)


def _near(asked: Asked, sd: Fraction) -> str:
    """The SD nearest to the printed one, of all sums that give the mean."""
    n, images = asked.runs, asked.images
    near = []
    for total in asked.totals:
        target = asked.square(sd, total)
        below = math.floor(target) - (math.floor(target) - total) % 2
        for square in (below, below + 2):
            variance = (square - Fraction(total**2, n)) / (n - asked.ddof)
            if variance >= 0:
                shown = 100 * math.sqrt(variance) / images
                near.append((abs(square - target), total, square, shown))
    if not near:
        return f"no whole number of {images * n} images gives the mean"
    _, total, square, shown = min(near)
    counts = f"sum {total} of {images * n} images, squares {square}"
    return f"ddof {asked.ddof}: {counts}: the nearest SD is {shown:.4f}"


def is_possible(asked: Asked) -> bool:
    """What GRIM and GRIMMER say: whether whole sums of the right parity print so."""
    if len(asked.totals) > MOST_SUMS:
        return True
    for total in asked.totals:
        low, high = (asked.square(max(end, Fraction(0)), total) for end in asked.sd)
        below, over = divmod(total, asked.runs)
        least = over * (below + 1) ** 2 + (asked.runs - over) * below**2
        full, rest = divmod(total, asked.images)
        first, most = max(math.ceil(low), least), full * asked.images**2 + rest**2
        if first + (first - total) % 2 <= min(math.floor(high), most):
            return True
    return False


def largest_sd(mean: ExactRange, runs: int, ddof: int) -> float:
    """The largest SD of values from 0 to 100 with such a mean, n of them at the ends."""
    nearest = min(max(Fraction(50), mean[0]), mean[1])
    return math.sqrt(float(nearest * (100 - nearest) * runs / (runs - ddof)))
