"""How many trials would decide a cell, if difference and spread stay as they are."""

from __future__ import annotations

import numpy as np
from scipy import special

from fedrepro.benchmark.stats.spread import Spread

MOST_TRIALS = 200
"""Beyond this many trials the answer is 'none would': nobody trains that often."""


def trials_needed(
    farthest: float,
    nearest: float,
    sd: float,
    runs: int,
    published: Spread | None,
    margin: float,
    level: float = 0.05,
) -> int | None:
    """The smallest number of trials above `runs` at which REPRODUCED or DISCREPANT is reached.

    farthest, nearest: the largest and smallest |difference| that rounding allows. sd: of our
    trials (ddof = 1), positive. None if not even `MOST_TRIALS` would do: the published side's own
    uncertainty, which more trials of ours cannot shrink, may be too large. Every number is tried,
    since Welch's degrees of freedom do not rise steadily with n; the formulas are those of
    `spread.standard_error` and `tost`, for all n at once.
    """
    n = np.arange(runs + 1, MOST_TRIALS + 1)
    ours = sd**2 / n
    if published is None:
        error, df = sd * np.sqrt(1 / n + 1), n - 1.0
    else:
        theirs = published.variance_of_mean
        share = ours / (ours + theirs)
        error = np.sqrt(ours + theirs)
        df = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / published.df)
    equivalent = special.stdtr(df, (farthest - margin) / error)
    beyond = special.stdtr(df, (margin - nearest) / error)
    beyond += special.stdtr(df, -(margin + nearest) / error)
    decided = (equivalent < level) | ((beyond < level) & (nearest > margin))
    return int(n[decided.argmax()]) if decided.any() else None
