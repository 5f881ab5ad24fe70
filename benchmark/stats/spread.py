"""Spreads of both sides of a comparison, and whether their difference is in a margin or beyond.

Sources: Schuirmann 1987 for the two one-sided tests of equivalence; their opposite is the test of
the interval null hypothesis |difference| <= margin at its least favourable point.

Published deviations of a table are pooled where they are alike. A cell takes the pooled one only if
it is larger than its own. Without that guard the rate of false equivalence rose to 6.6 % (five rows
of five runs, one of them 1.5 times as noisy; `tests/benchmark/test_verdict_error_rates.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

POOLING_LEVEL = 0.25
"""A preliminary test that decides about pooling needs a high level, or pooling hides unequal
spreads: Bancroft (1964) recommends 0.25."""


@dataclass(frozen=True)
class Spread:
    """Standard deviation (ddof = 1) with `df` degrees of freedom, behind a mean of `runs`."""

    sd: float
    df: float
    runs: int

    @property
    def variance_of_mean(self) -> float:
        return self.sd**2 / self.runs


def unbiased_sd(sd: float, *, ddof: int, runs: int) -> float:
    """A standard deviation of two `runs` or more brought from `ddof` (0 or 1) to ddof = 1."""
    return sd * math.sqrt((runs - ddof) / (runs - 1))


def standard_errors(sd: float, n: int, published: Spread | None) -> list[tuple[float, float]]:
    """Standard errors of the difference of the two means, each with its degrees of freedom. Where
    there are two, a verdict must hold for both. `sd`, `n`: of our trials. `published`: of several
    runs, it gives Welch's error of the printed mean, degrees of freedom by Welch-Satterthwaite. Of
    one run, it is from another table: the printed run spreads so, or as our trials do. None: the
    printed run is one more draw of ours, s * sqrt(1/n + 1), with n - 1 degrees of freedom."""
    errors = []
    if published is None or published.runs == 1:
        errors.append((sd * math.sqrt(1 / n + 1), n - 1.0))
    if published is not None:
        own, other = sd**2 / n, published.variance_of_mean
        # Shares, not squares: variances near the smallest float would underflow when squared.
        share = own / (own + other)
        df = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / published.df)
        errors.append((math.sqrt(own + other), df))
    return errors


def _below(statistic: float, df: float) -> float:
    from scipy import special

    return float(special.stdtr(df, statistic))


def p_equivalent(difference: float, error: float, df: float, margin: float) -> float:
    """P-value that |true difference| < margin, by the standard error: the larger of two tests."""
    return _below((abs(difference) - margin) / error, df)


def p_beyond(difference: float, error: float, df: float, margin: float) -> float:
    """P-value against |true difference| <= margin. Both tails are counted: with the near one alone,
    the test's size would rise to twice its level as the margin shrinks."""
    near, far = margin - abs(difference), -(abs(difference) + margin)
    return min(1.0, _below(near / error, df) + _below(far / error, df))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given, whatever their dependence. Source: Holm, A simple
    sequentially rejective multiple test procedure, 1979."""
    values, order = np.array(p_values, np.float64), np.argsort(p_values, kind="stable")
    stepped = np.arange(len(values), 0, -1) * values[order]
    values[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(one) for one in values]


def p_text(value: float) -> str:
    """A p-value in words, such as 'p = 0.012'."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def borrow(sds: Sequence[float], runs: int) -> list[Spread]:
    """The spread that each of a table's deviations (ddof = 1) stands for, alike ones pooled. Alike
    are those between which Bartlett's test at level 0.25 finds no difference. A deviation of zero
    never is: it says that values were equal, not how far they spread."""
    own = [Spread(sd, runs - 1, runs) for sd in sds]
    if len(sds) < 2 or min(sds) == 0 or bartlett(sds, runs) < POOLING_LEVEL:
        return own
    pooled, df = pooled_sd(sds), len(sds) * (runs - 1)
    return [Spread(pooled, df, runs) if pooled > one.sd else one for one in own]


def bartlett(sds: Sequence[float], runs: int) -> float:
    """P-value of Bartlett's test that normal samples with these deviations share one variance."""
    from scipy import special

    df, others = runs - 1, len(sds) - 1
    excess = 2 * df * float(np.sum(np.log(pooled_sd(sds)) - np.log(sds)))
    correction = 1 + (len(sds) / df - 1 / (len(sds) * df)) / (3 * others)
    return float(special.chdtrc(others, max(0.0, excess / correction)))


def pooled_sd(sds: Sequence[float]) -> float:
    """Square root of the mean variance, of samples of equal size."""
    return math.sqrt(np.square(sds).mean())
