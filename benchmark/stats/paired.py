"""Is the mean of paired differences above zero? Student's t and sign flips must both say so.

Null hypothesis: the mean is at most zero, and the differences spread symmetrically about it.
Sign flips hold their level for every such sample, t for normal ones; the larger p-value decides.
Flips tell no p-value below 2^-n (1/32 of five trials): where the sample seen is the most extreme of
all, they are used up, and t decides alone.

`tests/benchmark/test_claim_error_rates.py` simulates what this holds and what it does not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .samples import is_flat
from .sign_flips import flips

Floats = NDArray[np.float64]
_TIE = 1e-12


def p_above(differences: ArrayLike) -> Floats:
    """P-values that means are above zero. differences: [..., n], n >= 2. Returns [...]."""
    found = np.asarray(differences, np.float64)
    by_t, (by_flips, is_most_extreme) = p_t(found), flips(found)
    return np.where(is_most_extreme, by_t, np.maximum(by_t, by_flips))


def p_t(differences: ArrayLike) -> Floats:
    """Student's one-sided t test that means are above zero. differences: [..., n]. Returns [...].

    Differences that are all equal leave t no spread to work with: 2^-n of the sign test stands in
    where they are above zero, else 1.
    """
    from scipy import special

    found = np.asarray(differences, np.float64)
    n, mean = found.shape[-1], found.mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = mean / (found.std(axis=-1, ddof=1) / np.sqrt(n))
    equal = np.where(mean > _TIE, 0.5**n, 1.0)
    return np.where(is_flat(found), equal, special.stdtr(n - 1, -statistic))


def p_sign(differences: ArrayLike) -> float:
    """The one-sided sign test that more differences lie above zero than below, ties left out."""
    from scipy import special

    found = np.asarray(differences, np.float64)
    above, below = int((found > _TIE).sum()), int((found < -_TIE).sum())
    return float(special.bdtrc(above - 1, above + below, 0.5)) if above else 1.0


def unanimous(differences: ArrayLike) -> float:
    """P-value of the sign test that only samples pass whose differences are all above zero."""
    found = np.asarray(differences, np.float64)
    return 0.5 ** len(found) if (found > _TIE).all() else 1.0
