"""Sign flips: the exact test that the mean of paired differences is above zero.

If neither method is better, exchanging both in a trial turns the sign of its difference and changes
nothing else. So every choice of signs is as likely as the one seen, whatever the differences look
like: skewed, tied or torn by runs that collapse in both methods alike.

Source: Fisher, The Design of Experiments, 1935, section 21.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

EXACT = 12
"""Up to so many differences all 2^n signs are tried, 4,096 at most."""
DRAWS = 9_999
_SEED = 0
_AT_ONCE = 2**22
_EQUAL = 1e-9


def flips(differences: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """P-values that means are above zero, and where what was seen is the most extreme of all signs.

    differences: [..., n]. Above `EXACT` of them, 9,999 signs are drawn with a fixed seed, the seen
    ones counted in, which keeps the level. Returns both as [...].
    """
    n = differences.shape[-1]
    flat = differences.reshape(-1, n)
    signs = _signs(n)
    counts = np.empty(len(flat))
    step = max(1, _AT_ONCE // len(signs))
    for start in range(0, len(flat), step):
        part = flat[start : start + step]
        sums = part @ signs.T
        slack = _EQUAL * np.abs(part).sum(axis=1, keepdims=True)
        counts[start : start + step] = (sums >= sums[:, :1] - slack).sum(axis=1)
    shape = differences.shape[:-1]
    return (counts / len(signs)).reshape(shape), (counts == 1).reshape(shape)


@cache
def _signs(n: int) -> NDArray[np.float64]:
    """Signs to try, those that were seen first. [tries, n]"""
    if n <= EXACT:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
        return np.asarray(1.0 - 2.0 * bits, np.float64)
    drawn = np.random.default_rng(_SEED).choice((-1.0, 1.0), size=(DRAWS, n))
    return np.vstack([np.ones(n), drawn])
