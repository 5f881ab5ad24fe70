"""How much of a printed table is seen in trials: slope, correlation, orderings, relabelling.

A table is an array of rows (methods or settings) by columns (tasks); a cell that does not exist is
not a number. Values are compared within columns, about the mean of the column, and not scaled: a
column weighs as its printed values differ.

Retention is the slope of our values on the printed ones. Reliability is the part of the printed sum
of squares that is not noise of one run, and on average the slope of a perfect repetition
(regression dilution; Spearman 1904). The relabelling p-value is a permutation test over labels of
rows: unrelated true differences also give a slope whose interval over trials misses zero.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .intervals import LEVEL, Floats, reached

MOST_ROWS = 8  # up to so many rows all permutations are counted (40,320)
DRAWS = 10_000
_EPS = 1e-12
_ALIKE = 1e-9
_BATCH = 4096


@dataclass(frozen=True)
class Pattern:
    """Printed and own values of one metric.

    `printed`: [rows, columns], not a number where there is no cell. `half`: half a unit of the last
    printed digit, [rows, columns]. `trials`: [rows, columns, n] by seed; not a number where a cell
    lacks one. `methods`: the method behind each row, None where it is not known. `tie`: the
    difference up to which two trials are equal. `level`: of intervals over trials. `joined`: the
    labels of printed columns that one column stands for."""

    printed: Floats
    half: Floats
    trials: Floats
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    methods: tuple[str | None, ...]
    tie: float = 0.0
    level: float = 1 - LEVEL
    joined: tuple[tuple[str, ...], ...] = ()

    def paired(self, looks: Sequence[int] = ()) -> Self:
        """With the trials that all cells have, up to the last of `looks` that they reach. All of
        the following asks for paired trials."""
        lacking = np.isnan(self.trials[~np.isnan(self.printed)]).any(axis=0)
        known = np.compress(~lacking, self.trials, axis=-1)
        count, level = reached(looks, known.shape[-1])
        return replace(self, trials=known[..., :count], level=level)

    @property
    def n(self) -> int:
        return int(self.trials.shape[-1])

    @property
    def means(self) -> Floats:
        """Our means, [rows, columns]."""
        return np.asarray(self.trials.mean(axis=-1))


def centred(values: Floats) -> Floats:
    """Values about the mean of their column; 0 where there is no cell. [rows, columns, ...]"""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    return np.where(known, values - np.where(known, values, 0.0).sum(axis=0) / count, 0.0)


def retention(printed: Floats, trials: Floats) -> Floats | None:
    """The slope of each trial on the printed values; None where these do not differ. `printed`:
    [rows, columns]. `trials`: [rows, columns, n]. Returns [n]."""
    x = centred(printed)
    if np.ptp(x) < _EPS:
        return None
    return np.asarray(np.einsum("rc,rct->t", x, centred(trials)) / (x * x).sum())


def correlation(printed: Floats, means: Floats) -> Floats:
    """Of our means with the printed values within columns. Both [rows, columns, ...]."""
    known = ~np.isnan(printed) & ~np.isnan(means)
    x, y = (centred(np.where(known, values, np.nan)) for values in (printed, means))
    xy, xx, yy = ((a * b).sum(axis=(0, 1)) for a, b in ((x, y), (x, x), (y, y)))
    return np.asarray(xy / np.maximum(np.sqrt(xx * yy), _EPS))


def relabelling_p(printed: Floats, means: Floats) -> float:
    """The share of relabelled rows that correlate at least as well as these. All permutations of
    the row labels up to eight rows, else 10,000 that are drawn with a fixed seed, to which the
    labels as they are count as one more."""
    rows, seen = len(printed), float(correlation(printed, means)) - _ALIKE
    more = int(rows > MOST_ROWS)
    rng = np.random.default_rng(0)
    drawn = (rng.permutation(rows) for _ in range(DRAWS))
    orders = np.array(list(drawn if more else itertools.permutations(range(rows))))
    alike = 0
    for batch in np.array_split(orders, 1 + len(orders) // _BATCH):
        relabelled = np.moveaxis(printed[batch], 0, -1)  # [rows, columns, orders]
        alike += int((correlation(relabelled, means[..., None]) >= seen).sum())
    return (alike + more) / (len(orders) + more)


def orderings(pattern: Pattern) -> Floats:
    """Whether each trial orders a printed pair alike: 1, 0, or one half for a tie. [pairs, n]
    Pairs are those of a column that are printed apart beyond rounding."""
    printed, half, trials = pattern.printed, pattern.half, pattern.trials
    a, b = np.triu_indices(len(printed), 1)
    apart = printed[a] - printed[b]
    with np.errstate(invalid="ignore"):
        clear = np.abs(apart) > half[a] + half[b] + _ALIKE
    ours = (trials[a] - trials[b])[clear] * np.sign(apart[clear])[:, None]
    return np.where(np.abs(ours) <= pattern.tie, 0.5, (ours > 0).astype(float))


def reliability(pattern: Pattern, printed_variance: float | None) -> float:
    """The slope that a perfect repetition has on average, from 0 to 1. `printed_variance`: of one
    printed number; None takes the variance of our own trials."""
    x, known = centred(pattern.printed), ~np.isnan(pattern.printed)
    rows, columns = pattern.printed.shape
    variance = printed_variance
    if variance is None:
        own = centred(pattern.trials)[known].var(axis=-1, ddof=1).mean()
        variance = float(own) * rows / (rows - 1)
    return max(0.0, 1.0 - float((known.sum() - columns) * variance / (x * x).sum()))


def left_out(pattern: Pattern) -> dict[str, Floats | None]:
    """Retention without each row, each column and all rows of each method, by what is left out.
    None where the printed values do not differ without it. What leaves nothing to compare is not
    there."""
    named = ("row", 0, pattern.rows), ("column", 1, pattern.columns), ("method", 0, pattern.methods)
    found: dict[str, Floats | None] = {}
    for what, axis, labels in named:
        for label in dict.fromkeys(labels):
            which = [i for i, one in enumerate(labels) if one == label]
            if pattern.printed.shape[axis] - len(which) > 1 - axis:
                both = (np.delete(one, which, axis) for one in (pattern.printed, pattern.trials))
                found[f"{what} {label}"] = retention(*both)
    return found


def differences_sd(pattern: Pattern) -> float | None:
    """The median SD over trials of the difference of two rows, averaged over their columns."""
    known = ~np.isnan(pattern.printed)
    found = [
        float((pattern.trials[a] - pattern.trials[b])[known[a] & known[b]].mean(axis=0).std(ddof=1))
        for a, b in itertools.combinations(range(len(known)), 2)
        if (known[a] & known[b]).any()
    ]
    return float(np.median(found)) if found else None
