"""How much of a printed table is seen in trials: slope, correlation, orderings, relabelling.

A table is an array of rows (methods or settings) by columns (tasks); a cell that does not exist is
not a number. Values are compared within columns, about the mean of the column, and not scaled: a
column weighs as its printed values differ.

- Retention: the slope of our values on the printed ones. 1 is a difference as large as printed, 0
  is unrelated, below 0 is turned round.
- Reliability: the part of the printed sum of squares that is not noise of one run. A perfect
  repetition has this slope on average (regression dilution; Spearman 1904).
- Relabelling p-value: a permutation test over the labels of rows. It is needed because unrelated
  true differences also give a slope whose interval over trials misses zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T")
MOST_ROWS = 8
"""Up to so many rows all permutations are counted (40,320)."""
DRAWS = 10_000
_SEED = 0
_EPS = 1e-12
_ALIKE = 1e-9
_BATCH = 4096


@dataclass(frozen=True)
class Pattern:
    """Printed and own values of one metric.

    Attributes:
        printed: [rows, columns], not a number where there is no cell.
        half: half a unit of the last printed digit, [rows, columns].
        trials: [rows, columns, n], paired by seed.
        rows: labels.
        columns: labels.
        methods: the method behind each row, None where it is not known.
        tie: the difference up to which two trials are equal.
    """

    printed: Floats
    half: Floats
    trials: Floats
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    methods: tuple[str | None, ...]
    tie: float = 0.0

    @property
    def n(self) -> int:
        """The number of paired trials."""
        return int(self.trials.shape[-1])

    @property
    def means(self) -> Floats:
        """Our means, [rows, columns]."""
        return np.asarray(self.trials.mean(axis=-1))

    def without(self, axis: int, which: Sequence[int]) -> Pattern:
        """The pattern less some rows (axis 0) or columns (axis 1)."""

        def kept(labels: tuple[T, ...], of: int) -> tuple[T, ...]:
            return tuple(one for i, one in enumerate(labels) if axis != of or i not in which)

        return Pattern(
            np.delete(self.printed, which, axis),
            np.delete(self.half, which, axis),
            np.delete(self.trials, which, axis),
            kept(self.rows, 0),
            kept(self.columns, 1),
            kept(self.methods, 0),
            self.tie,
        )


def centred(values: Floats) -> Floats:
    """Values about the mean of their column; 0 where there is no cell. [rows, columns, ...]"""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    return np.where(known, values - np.where(known, values, 0.0).sum(axis=0) / count, 0.0)


def retention(pattern: Pattern) -> Floats | None:
    """The slope of each trial on the printed values, [n]; None where the print does not differ."""
    x = centred(pattern.printed)
    if np.ptp(x) < _EPS:
        return None
    return np.asarray(np.einsum("rc,rct->t", x, centred(pattern.trials)) / (x * x).sum())


def correlation(printed: Floats, means: Floats) -> float:
    """Of our means with the printed values within columns. Both [rows, columns]."""
    known = ~np.isnan(printed) & ~np.isnan(means)
    x, y = (centred(np.where(known, values, np.nan)) for values in (printed, means))
    return float((x * y).sum() / max(math.sqrt((x * x).sum() * (y * y).sum()), _EPS))


def relabelling_p(printed: Floats, means: Floats) -> float:
    """The share of relabelled rows that correlate at least as well as these.

    All permutations of the row labels up to eight rows, else 10,000 that are drawn with a fixed
    seed, to which the labels as they are count as one more.
    """
    rows = len(printed)
    sums = _products(printed, means)
    seen = correlation(printed, means) - _ALIKE
    if rows <= MOST_ROWS:
        orders = iter(itertools.permutations(range(rows)))
        alike, count = _count(orders, sums, seen)
        return alike / count
    rng = np.random.default_rng(_SEED)
    drawn = (tuple(rng.permutation(rows)) for _ in range(DRAWS))
    alike, count = _count(drawn, sums, seen)
    return (1 + alike) / (1 + count)


def _products(printed: Floats, means: Floats) -> Floats:
    """What a correlation sums, for each printed row beside each of ours: [rows, rows, columns, 6].

    The six sums of a column are: cells, x, y, x y, x x and y y.
    """
    known = ~np.isnan(printed)[:, None] & ~np.isnan(means)[None]
    x = np.where(known, np.nan_to_num(printed)[:, None], 0.0)
    y = np.where(known, np.nan_to_num(means)[None], 0.0)
    return np.stack([known.astype(float), x, y, x * y, x * x, y * y], axis=-1)


def _count(orders: Iterator[tuple[int, ...]], sums: Floats, seen: float) -> tuple[int, int]:
    """How many of some orders of the rows correlate at least as well, and how many there are."""
    own, alike, count = np.arange(len(sums)), 0, 0
    while batch := list(itertools.islice(orders, _BATCH)):
        # [orders, columns, 6]
        cells, x, y, xy, xx, yy = np.moveaxis(sums[np.array(batch), own].sum(axis=1), -1, 0)
        cells = np.maximum(cells, 1)
        xy, xx, yy = xy - x * y / cells, xx - x * x / cells, yy - y * y / cells
        size = np.sqrt(np.maximum(xx.sum(axis=-1) * yy.sum(axis=-1), 0.0))
        alike += int((xy.sum(axis=-1) / np.maximum(size, _EPS) >= seen).sum())
        count += len(batch)
    return alike, count


def orderings(pattern: Pattern, beyond: float = 0.0) -> Floats:
    """Whether each trial orders a printed pair alike: 1, 0, or one half for a tie. [pairs, n]

    Pairs are those of a column that are printed apart beyond rounding, and by more than `beyond`.
    """
    printed, half, trials = pattern.printed, pattern.half, pattern.trials
    found = [np.zeros((0, pattern.n))]
    for a, b in itertools.combinations(range(len(printed)), 2):
        apart = printed[a] - printed[b]
        rounding = half[a] + half[b] + _ALIKE
        with np.errstate(invalid="ignore"):
            clear = (np.abs(apart) > rounding) & (np.abs(apart) > beyond)
        ours = (trials[a] - trials[b])[clear] * np.sign(apart[clear])[:, None]
        found.append(np.where(np.abs(ours) <= pattern.tie, 0.5, (ours > 0).astype(float)))
    return np.concatenate(found)


def reliability(pattern: Pattern, printed_variance: float | None) -> float:
    """The slope that a perfect repetition has on average, from 0 to 1.

    Args:
        pattern: with a print that differs.
        printed_variance: of one printed number; None takes the variance of our own trials.
    """
    x, known = centred(pattern.printed), ~np.isnan(pattern.printed)
    rows, columns = pattern.printed.shape
    variance = printed_variance
    if variance is None:
        own = centred(pattern.trials)[known].var(axis=-1, ddof=1).mean()
        variance = float(own) * rows / (rows - 1)
    return max(0.0, 1.0 - float((known.sum() - columns) * variance / (x * x).sum()))


def left_out(pattern: Pattern) -> dict[str, Floats | None]:
    """Retention without each row, each column and all rows of each method, by what is left out.

    None where the print does not differ without it. Parts whose absence leaves nothing to compare
    are not among them.
    """
    parts = [(f"row {label}", 0, [r]) for r, label in enumerate(pattern.rows)]
    parts += [(f"column {label}", 1, [c]) for c, label in enumerate(pattern.columns)]
    parts += [
        (f"method {name}", 0, [r for r, one in enumerate(pattern.methods) if one == name])
        for name in dict.fromkeys(pattern.methods)
    ]
    return {
        label: retention(pattern.without(axis, which))
        for label, axis, which in parts
        if pattern.printed.shape[axis] - len(which) > 1 - axis
    }


def distinct_rows(pattern: Pattern) -> int:
    """How many rows have trials of their own."""
    return len({row.tobytes() for row in np.nan_to_num(pattern.trials, nan=-1.0)})


def differences_sd(pattern: Pattern) -> float | None:
    """The median SD over trials of the difference of two rows, averaged over their columns."""
    known = ~np.isnan(pattern.printed)
    found = [
        float((pattern.trials[a] - pattern.trials[b])[known[a] & known[b]].mean(axis=0).std(ddof=1))
        for a, b in itertools.combinations(range(len(known)), 2)
        if (known[a] & known[b]).any()
    ]
    return float(np.median(found)) if found else None
