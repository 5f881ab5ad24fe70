"""Many tests of one report: which share of those that pass is wrong.

Source: Benjamini and Hochberg, Controlling the false discovery rate, 1995.
"""

from __future__ import annotations

from collections.abc import Sequence


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the order given; of those at most alpha, alpha are wrong on average.

    That holds for independent tests, and for those whose statistics rise together.
    """
    if not p_values:
        return []
    from scipy import stats

    return [float(p) for p in stats.false_discovery_control(p_values, method="bh")]
