"""Mean and standard deviation of many small samples at once.

A report has thousands of two to a dozen values each; one by one, calling NumPy takes longer than
its sums. Rows of a matrix give the very bits that each sample gives alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_EQUAL = 1e-9
"""Values that differ by less, in units of the largest or of one, differ by rounding alone."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What intervals and tests need of `n` finite values.

    sd: with ddof = 1, not a number below two values. flat: whether all values are equal, so that
    there is no spread to reckon with.
    """

    n: int
    mean: float
    sd: float
    flat: bool

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.sd / math.sqrt(self.n)


def describe(samples: Sequence[Sequence[float]]) -> list[Sample | None]:
    """Each sample in numbers; None where that is not finite, or the sample is empty."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for place, values in enumerate(samples):
        by_size[len(values)].append(place)
    found: list[Sample | None] = [None] * len(samples)
    for size, places in by_size.items():
        if size == 0:
            continue
        rows = np.array([samples[place] for place in places], dtype=np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            means = rows.mean(axis=1)
            sds = rows.std(axis=1, ddof=1) if size > 1 else np.full(len(rows), np.nan)
            flat = np.ptp(rows, axis=1) <= _EQUAL * np.maximum(1.0, np.abs(rows).max(axis=1))
        finite = np.isfinite(rows).all(axis=1) & np.isfinite(means)
        if size > 1:
            finite &= np.isfinite(sds)
        columns: list[Any] = [one.tolist() for one in (finite, means, sds, flat)]
        for place, is_finite, mean, sd, is_flat in zip(places, *columns, strict=True):
            if is_finite:
                found[place] = Sample(size, mean, sd, is_flat)
    return found
