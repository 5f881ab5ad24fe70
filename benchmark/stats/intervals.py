"""Student-t intervals for a mean; below about twenty trials nothing else is honest."""

from __future__ import annotations

import math

from fedrepro.benchmark.stats.samples import Sample
from fedrepro.benchmark.stats.tost import t_quantile


def mean_interval(sample: Sample | None, level: float = 0.95) -> tuple[float, float] | None:
    """The two-sided confidence interval of the mean; None for fewer than two values."""
    if sample is None or sample.n < 2:
        return None
    half = t_quantile((1 + level) / 2, sample.n - 1) * sample.sd / math.sqrt(sample.n)
    return sample.mean - half, sample.mean + half


def replication_half_width(error: float, df: float, level: float = 0.95) -> float:
    """Half the width of the interval in which a replication's mean falls with this probability.

    error: standard error of the difference between the two means; the interval is centred on the
    published value.
    """
    return t_quantile((1 + level) / 2, df) * error
