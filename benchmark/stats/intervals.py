"""Student's t-interval of a mean over trials, and the smallest mean that a run can show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .samples import is_flat
from .t_tests import t_quantile

TIE = 1e-5
"""Values that differ by no more count as equal: the step of an accuracy stored in float32."""

_FARTHEST = 50.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over trials with its t-interval.

    Attributes:
        mean: of the trials.
        low: the lower end, None below two trials and where all trials are equal.
        high: the upper end, None where `low` is.
    """

    mean: float
    low: float | None = None
    high: float | None = None

    def lies_above(self, bound: float) -> bool:
        """Whether the whole interval is above `bound`; no interval lies anywhere."""
        return self.low is not None and self.low > bound

    def lies_below(self, bound: float) -> bool:
        """Whether the whole interval is below `bound`."""
        return self.high is not None and self.high < bound

    def over(self, divisor: float) -> Interval:
        """The interval of the mean divided by a positive number."""
        if self.low is None or self.high is None:
            return Interval(self.mean / divisor)
        return Interval(self.mean / divisor, self.low / divisor, self.high / divisor)

    def widened(self, factor: float) -> Interval:
        """The interval with so many times its half width."""
        if self.low is None or self.high is None:
            return self
        reach = (self.high - self.low) / 2 * factor
        return Interval(self.mean, self.mean - reach, self.mean + reach)


def t_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """The mean of `values` ([n], at least one) with its two-sided interval at `level`."""
    found = np.asarray(values, np.float64)
    mean = float(found.mean())
    if found.size < 2 or is_flat(found):
        return Interval(mean)
    quantile = t_quantile(0.5 + level / 2, found.size - 1)
    reach = quantile * float(found.std(ddof=1)) / math.sqrt(found.size)
    return Interval(mean, mean - reach, mean + reach)


def detectable(sd: float, n: int, power: float = 0.8, level: float = 0.95) -> float | None:
    """The smallest mean that a two-sided t-test shows with this power (noncentral t).

    None where it is beyond fifty standard errors, or where equal trials have no spread.

    Args:
        sd: standard deviation of one trial.
        n: number of trials, at least two.
        power: the share of runs in which the mean is shown.
        level: of the interval, 0.95 for a test at 5 %.
    """
    from scipy import optimize, stats

    critical = t_quantile(0.5 + level / 2, n - 1)
    if sd == 0 or stats.nct.sf(critical, n - 1, _FARTHEST) < power:
        return None
    shift = optimize.brentq(lambda d: stats.nct.sf(critical, n - 1, d) - power, 0, _FARTHEST)
    return sd / math.sqrt(n) * float(shift)
