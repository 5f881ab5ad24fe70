"""One small sample: mean, standard deviation and Student-t interval of the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .t_tests import t_quantile

_EQUAL = 2e-7
"""Values that differ by less, in units of the largest or of one, differ by rounding alone."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What intervals and tests need of `n` finite values.

    Attributes:
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
        flat = bool(is_flat(found))
    if not math.isfinite(mean) or (found.size > 1 and not math.isfinite(sd)):
        return None
    return Sample(found.size, mean, sd, flat)


def is_flat(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether values are all equal but for rounding. values: [..., n]. Returns [...]."""
    largest = np.abs(values).max(axis=-1)
    return np.asarray(np.ptp(values, axis=-1) <= _EQUAL * np.maximum(1.0, largest))


def mean_interval(sample: Sample | None) -> tuple[float, float] | None:
    """The two-sided 95 % confidence interval of the mean; None for fewer than two values."""
    if sample is None or sample.n < 2:
        return None
    half = t_quantile(0.975, sample.n - 1) * sample.sd / math.sqrt(sample.n)
    return sample.mean - half, sample.mean + half
