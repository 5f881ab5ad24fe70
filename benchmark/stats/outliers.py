"""Trials that fall far out of their arm, and what of them a few trials may not have shown.

A method that collapses in one run of eight looks good in half of all samples of five. No test of
these five can know; but other methods of the same table can, if they collapse too. So once a table
has shown how far a trial may fall, a claim must stand even if its methods fall as far in more
trials than were seen.

Robust spread: 1.4826 times the median distance from an arm's median, which for normal values is
their standard deviation (Hampel 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FAR = 5.0
"""So many robust spreads from its arm's median, a trial is no ordinary one: of normal values that
happens to less than one in a million."""
WIDEST = 3.0
"""An arm counts as noisier than the others up to so many times; beyond that, its trials collapse.
A clean table whose arms spread 0.3 to 4 raises a false alarm in about one case in ten."""
_NORMAL = 1.4826


@dataclass(frozen=True)
class Outliers:
    """Of one arm: which of its trials fell out, and how far trials of its table did.

    low, high: by trial of the arm. drop, rise: the largest of the table, 0 where none was seen.
    """

    low: tuple[bool, ...]
    high: tuple[bool, ...]
    drop: float
    rise: float


def outliers(arms: Sequence[Sequence[float]]) -> list[Outliers]:
    """The trials of a table's arms that fell out; all arms show one metric in one unit."""
    residuals = [np.subtract(arm, np.median(arm)) for arm in map(np.asarray, arms)]
    spreads = [_spread(own) for own in residuals]
    pooled = _spread(*residuals)
    limits = [FAR * np.clip(own, pooled, WIDEST * pooled) for own in spreads]
    far = [(own < -limit, own > limit) for own, limit in zip(residuals, limits, strict=True)]
    both = list(zip(residuals, far, strict=True))
    drop = max((float(-own[low].min()) for own, (low, _) in both if low.any()), default=0.0)
    rise = max((float(own[high].max()) for own, (_, high) in both if high.any()), default=0.0)
    return [Outliers(tuple(low.tolist()), tuple(high.tolist()), drop, rise) for low, high in far]


def _spread(*residuals: NDArray[np.float64]) -> float:
    """The robust spread of arms; the trial nearest to its arm's median is no evidence of it."""
    away = np.concatenate([np.sort(np.abs(own))[1:] for own in residuals] or [np.zeros(0)])
    return _NORMAL * float(np.median(away)) if away.size else 0.0


def p_unseen(seen: int, trials: int, gap: float, effect: float) -> float:
    """P-value against a rate of outliers so high that it would take a mean to the bound.

    seen: outliers among the trials. gap: from the bound to the mean, which holds what was seen of
    them. effect: by how much the mean would fall if all trials fell out.

    The rate that would do is seen / trials + gap / effect; the p-value is the chance to see so few
    at that rate, so it is below 5 % where the upper bound of Clopper and Pearson 1934 is smaller.
    """
    from scipy import special

    if effect <= 0:
        return 0.0
    if gap <= 0:
        return 1.0
    rate = seen / trials + gap / effect
    return 0.0 if rate >= 1 else float(special.bdtr(seen, trials, rate))
