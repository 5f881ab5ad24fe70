"""Student-t intervals for a mean; below about twenty trials nothing else is honest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmark.stats.tost import t_quantile


def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """The two-sided confidence interval of the mean; None for fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    mean = float(np.mean(values))
    half = t_quantile((1 + level) / 2, n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return mean - half, mean + half


def replication_half_width(error: float, df: float, level: float = 0.95) -> float:
    """Half the width of the interval in which a replication's mean falls with this probability.

    error: standard error of the difference between the two means; the interval is centred on the
    published value.
    """
    return t_quantile((1 + level) / 2, df) * error
