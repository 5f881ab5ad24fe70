"""Student's t: is a difference inside a margin or beyond it, of many tests and in several looks.

Sources: Schuirmann 1987 for the two one-sided tests of equivalence; their opposite is the test of
the interval null hypothesis |difference| <= margin at its least favourable point. Lan and DeMets
1983 (Discrete sequential boundaries for clinical trials) for looks.

SciPy is imported where a number is asked for: a table without trials is shown without it.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
LEVEL = 0.05
"""Of every test of claims and cells."""


def t_quantile(level: float, df: float) -> float:
    """The quantile of Student's t: level 0.95 is the one-sided 5 % bound."""
    from scipy import special

    return float(special.stdtrit(df, level))


def _below(statistic: Floats, df: ArrayLike) -> Floats:
    """P(T < statistic) for Student's t."""
    from scipy import special

    return np.asarray(special.stdtr(np.asarray(df, np.float64), statistic), np.float64)


def p_equivalent(difference: float, error: ArrayLike, df: ArrayLike, margin: float) -> Floats:
    """P-value that |true difference| < margin, by the standard error: the larger of two tests."""
    return _below((abs(difference) - margin) / np.asarray(error), df)


def p_beyond(difference: float, error: ArrayLike, df: ArrayLike, margin: float) -> Floats:
    """P-value against |true difference| <= margin.

    Both tails are counted: with the near one alone, as for margins much larger than the standard
    error, the test's size would rise to twice its level as the margin shrinks.
    """
    near = _below((margin - abs(difference)) / np.asarray(error), df)
    far = _below(-(abs(difference) + margin) / np.asarray(error), df)
    return np.asarray(np.minimum(1.0, near + far))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given, whatever their dependence.

    Source: Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    values, order = np.array(p_values, np.float64), np.argsort(p_values, kind="stable")
    stepped = np.arange(len(values), 0, -1) * values[order]
    values[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(one) for one in values]


def p_text(value: float) -> str:
    """A p-value in words, such as 'p = 0.012'."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def shares(counts: Sequence[int], declared: int) -> list[float]:
    """The share of the level that each look may spend; they add up to at most one.

    The spending function f(t) = ln(1 + (e - 1) t) of the share t of declared trials has boundaries
    about as constant as those of Pocock 1977. The union bound keeps the level for any test.

    counts: of trials at each look; those beyond `declared` (at least 1) have nothing to spend.
    """
    found, spent = [], 0.0
    for count in counts:
        due = max(spent, math.log1p((math.e - 1) * min(1.0, count / declared)))
        found.append(due - spent)
        spent = due
    return found


def reached(looks: Sequence[int], trials: int) -> tuple[int, float]:
    """How many of some paired trials count, and the level of their intervals.

    looks: declared numbers of trials, rising; where none is reached, all count at the whole level.
    """
    found = [look for look in looks if look <= trials]
    if not found:
        return trials, 1 - LEVEL
    return found[-1], 1 - LEVEL * shares(found, looks[-1])[-1]
