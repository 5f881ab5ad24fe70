"""Standard deviations and ratios of variances of normal samples, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

_TAIL = 0.025


def sd_interval(sd: float, df: float) -> tuple[float, float]:
    """The 95 % interval of a standard deviation with `df` degrees of freedom, by chi-square."""
    from scipy import special

    low, high = (sd * math.sqrt(df / float(special.chdtri(df, p))) for p in (_TAIL, 1 - _TAIL))
    return low, high


def ratio_interval(ratio: float, df: float, df_below: float) -> tuple[float, float]:
    """The 95 % interval of a ratio of two independent variances, by F."""
    from scipy import special

    high, low = (float(special.fdtri(df, df_below, p)) for p in (_TAIL, 1 - _TAIL))
    return ratio / low, ratio / high


def summed_df(variances: Sequence[float], df: Sequence[float]) -> float:
    """Degrees of freedom of a sum of independent variances, not all zero (Satterthwaite 1946)."""
    squares = sum(one**2 / n for one, n in zip(variances, df, strict=True))
    return float(sum(variances) ** 2 / squares)
