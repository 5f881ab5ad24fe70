"""How many trials would decide an open claim, at the mean differences and spreads seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..results import Comparison
from ..stats.looks import Looks, shares
from ..stats.spread import MOST_TRIALS
from ..stats.t_tests import LEVEL
from .nodes import Elementary

Floats = NDArray[np.float64]
_LEAST = 1e-12


def trials_needed(
    elementary: Sequence[Elementary], comparisons: Sequence[Comparison], looks: Looks
) -> int | None:
    """The smallest number of paired trials, more than there are and at most 200, that would do.

    Decided means that the claim holds, or that one comparison is opposite, by Student's t and
    before the correction over claims, at what the looks so far have left of the 5 %. Trials beyond
    the declared ones would be declared anew.
    None where not even 200 would do, or a stated size is what is open.
    """
    done = looks.counts[-1]
    n = np.arange(done + 1, MOST_TRIALS + 1)
    if not n.size or any(one.relation == "=" for one in comparisons):
        return None
    levels = np.array([_level(looks, int(count)) for count in n])
    holds, opposite = np.ones(n.size, bool), np.zeros(n.size, bool)
    for one, shown in zip(elementary, comparisons, strict=True):
        if shown.exact:
            holds &= shown.p == 0.0
            continue
        p, p_reversed = _p_values(one, shown, n)
        holds &= p <= levels
        opposite |= p_reversed * len(comparisons) <= levels
    decided = holds | opposite
    return int(n[decided.argmax()]) if decided.any() else None


def _p_values(one: Elementary, shown: Comparison, n: NDArray[np.int_]) -> tuple[Floats, Floats]:
    """P-values that a comparison holds, and that it does not, by number of trials."""
    from scipy import special

    if one.relation == "~":
        inside = _p_within(shown, float(one.tolerance or 0), n)
        return inside, 1 - inside
    mean = float(np.mean(shown.differences)) * (-1 if one.relation == "<" else 1)
    above = np.asarray(special.stdtr(n - 1, -mean / _error(shown, n)), np.float64)
    return above, 1 - above


def _p_within(shown: Comparison, margin: float, n: NDArray[np.int_]) -> Floats:
    """P-values that both sides are less than a margin apart, by number of trials."""
    from scipy import special

    apart = abs(float(np.mean(shown.differences)))
    return np.asarray(special.stdtr(n - 1, (apart - margin) / _error(shown, n)), np.float64)


def _error(shown: Comparison, n: NDArray[np.int_]) -> Floats:
    """The standard error of the mean difference, by number of trials."""
    sd = max(float(np.std(shown.differences, ddof=1)), _LEAST)
    return np.asarray(sd / np.sqrt(n), np.float64)


def _level(looks: Looks, count: int) -> float:
    """What one more look at `count` trials may spend of the 5 %."""
    if len(looks.counts) == 1 and looks.counts[0] == looks.declared:
        return LEVEL
    return LEVEL * shares([*looks.counts, count], max(count, looks.declared))[-1]
