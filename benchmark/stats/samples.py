"""Mean and standard deviation of one small sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_EQUAL = 1e-9
"""Values that differ by less, in units of the largest or of one, differ by rounding alone."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What intervals and tests need of `n` finite values.

    sd: with ddof = 1; not a number below two values.
    flat: whether all values are equal, so that there is no spread to work with.
    """

    n: int
    mean: float
    sd: float
    flat: bool

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.sd / math.sqrt(self.n)


def describe(values: Sequence[float]) -> Sample | None:
    """A sample in numbers; None where these are not finite, or the sample is empty."""
    found = np.array(values, dtype=np.float64)
    if found.size == 0 or not np.isfinite(found).all():
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        mean = float(found.mean())
        sd = float(found.std(ddof=1)) if found.size > 1 else math.nan
        flat = bool(np.ptp(found) <= _EQUAL * max(1.0, np.abs(found).max()))
    if not math.isfinite(mean) or (found.size > 1 and not math.isfinite(sd)):
        return None
    return Sample(found.size, mean, sd, flat)
