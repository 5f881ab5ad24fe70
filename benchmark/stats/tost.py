"""Two one-sided t tests, and their opposite: is a difference inside a margin, or beyond it?

Sources: Schuirmann 1987 for the equivalence test; the opposite is the test of the interval null
hypothesis |difference| <= margin at its least favourable point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import special

from fedrepro.benchmark.stats.spread import Spread, standard_error


def t_upper(statistic: float, df: float) -> float:
    """P(T > statistic) for Student's t."""
    return float(special.stdtr(df, -statistic))


@lru_cache(maxsize=1024)
def t_quantile(level: float, df: float) -> float:
    """The quantile of Student's t: level 0.95 is the one-sided 5 % bound."""
    return float(special.stdtrit(df, level))


def p_equivalent(difference: float, error: float, df: float, margin: float) -> float:
    """P-value of the two one-sided tests that |true difference| < margin.

    error: standard error of `difference`, positive. The larger of the two p-values.
    """
    return t_upper((margin - abs(difference)) / error, df)


def p_beyond(difference: float, error: float, df: float, margin: float) -> float:
    """P-value against |true difference| <= margin.

    Both tails are counted: with the near one alone, as for margins much larger than the standard
    error, the test's size would rise to twice its level as the margin shrinks.
    """
    near = t_upper((abs(difference) - margin) / error, df)
    far = t_upper((abs(difference) + margin) / error, df)
    return min(1.0, near + far)


def tost_one_sample(values: Sequence[float], center: float, margin: float) -> float:
    """P-value that the mean of `values` lies within `margin` of `center`."""
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return p_equivalent(float(np.mean(values)) - center, error, len(values) - 1, margin)


def tost_welch(
    mean: float, spread: Spread, other_mean: float, other_spread: Spread, margin: float
) -> float:
    """P-value that two means lie within `margin`, from means, deviations and counts alone."""
    error, df = standard_error(spread, other_spread)
    return p_equivalent(mean - other_mean, error, df, margin)
