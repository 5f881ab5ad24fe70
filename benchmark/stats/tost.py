"""Two one-sided t tests, and their opposite: is a difference inside a margin, or beyond it?

Sources: Schuirmann 1987 for the equivalence test; the opposite is the test of the interval null
hypothesis |difference| <= margin at its least favourable point.
"""

from __future__ import annotations

from scipy import special


def t_upper(statistic: float, df: float) -> float:
    """P(T > statistic) for Student's t."""
    return float(special.stdtr(df, -statistic))


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
