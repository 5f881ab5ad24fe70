"""What a run can say before it is made: the chance of REPRODUCED where the paper is right.

Nothing is drawn here. `tests/benchmark/test_reach.py` holds the formulas to simulated verdicts.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from .spread import Spread, standard_errors
from .t_tests import LEVEL

Z = NormalDist().inv_cdf(1 - LEVEL)
"""1.645: no quantile of Student's t at this level is smaller."""
_SPREADS, _ROUNDINGS = 400, 20
"""Points of the two integrals; twice as many move no chance by 0.0005 (tested)."""


def is_out_of_reach(margin: float, half_unit: float, published: Spread) -> bool:
    """Whether a margin can never give REPRODUCED beside a printed spread.

    REPRODUCED asks for |d| + h + t * SE < margin. The standard error is at least that of the
    printed number, and t at least 1.645, however many trials are made. So nothing fulfils it if
    margin <= h + 1.645 * sd / sqrt(runs), with one run where the spread is borrowed.
    """
    return margin <= half_unit + Z * math.sqrt(published.variance_of_mean)


def chance_of_reproduced(
    margin: float, half_unit: float, n: int, sd: float, published: Spread | None
) -> float:
    """The chance of REPRODUCED in `n` trials if our method and the paper's have one mean.

    This is the largest there is: a true difference only makes it smaller. It is the power of two
    one-sided tests at a difference of 0, with the noise of the printed number and its rounding.

    sd: of our trials, taken as the true one; that of the paper's runs is `published.sd`, or `sd`
    where nothing is printed.
    half_unit: half a unit of the printed number's last digit, h.

    Derivation. Let D be our mean less the paper's before rounding, normal with mean 0 and variance
    tau^2 = sd^2 / n + v, where v is the variance of the printed number (sd^2 / runs of the paper).
    Rounding adds an error e, uniform in [-h, h] if the true mean may lie anywhere between two
    printable values. The cell is REPRODUCED if
    |D - e| + h + w(s) < margin, where w(s) is the largest t(.95) * SE of `standard_errors` at the
    deviation s of our trials. s^2 (n - 1) / sd^2 is chi-squared with n - 1 degrees of freedom, and
    s does not hang on D. With c(s) = margin - h - w(s), the chance is the mean over s and e of
    Phi((c + e) / tau) - Phi((e - c) / tau) where c > 0, else 0. Both means are midpoint sums, over
    quantiles of s and over e. (Owen's Q function has the same chance for h = 0 and one error.)

    Raises `ValueError` for fewer than two trials.
    """
    if n < 2:
        raise ValueError(f"{n} trial(s) have no spread")
    import numpy as np
    from scipy import special

    shares = (np.arange(_SPREADS) + 0.5) / _SPREADS
    deviations = sd * np.sqrt(2 * special.gammaincinv((n - 1) / 2, shares) / (n - 1))
    variance = sd**2 if published is None else published.variance_of_mean
    tau = math.sqrt(sd**2 / n + variance)
    errors = np.array([standard_errors(Spread(s, n - 1, n), published) for s in deviations])
    widths = np.max(special.stdtrit(errors[..., 1], 1 - LEVEL) * errors[..., 0], axis=1)
    return _inside(margin - half_unit - widths, half_unit, tau)


def chance_in_the_limit(
    margin: float, half_unit: float, sd: float, published: Spread | None
) -> float:
    """`chance_of_reproduced` for so many trials that only the printed number's noise is left."""
    import numpy as np
    from scipy import special

    widths = []
    if published is None or published.runs == 1:
        widths.append(Z * sd)
    if published is not None:
        theirs = math.sqrt(published.variance_of_mean)
        widths.append(float(special.stdtrit(published.df, 1 - LEVEL)) * theirs)
    tau = sd if published is None else math.sqrt(published.variance_of_mean)
    return _inside(np.array([margin - half_unit - max(widths)]), half_unit, tau)


def _inside(reach: object, half_unit: float, tau: float) -> float:
    """The mean chance that |D - e| is below each of `reach`, over these and over e."""
    import numpy as np
    from scipy import special

    c = np.maximum(np.asarray(reach, dtype=np.float64), 0.0)[:, None]
    e = half_unit * ((2 * np.arange(_ROUNDINGS) + 1) / _ROUNDINGS - 1)
    return float(np.mean(special.ndtr((c + e) / tau) - special.ndtr((e - c) / tau)))
