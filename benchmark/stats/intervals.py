"""One small sample: mean, spread, Student's t-interval, equality, and what a run can show.

Of several interim analyses of growing trials each has a level of its own (Lan and DeMets 1983,
Discrete sequential boundaries for clinical trials). SciPy is imported where a number is asked for:
a table without trials is shown without it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
LEVEL = 0.05
"""Of every test of claims and cells."""
_EQUAL = 2e-7  # values that differ by less, in units of the largest, differ by rounding alone
_FLOAT32 = 1e-7  # the step of a number in float32, in units of what it measures
_FARTHEST = 50.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over trials with its t-interval, which is None below two trials and for equal ones."""

    mean: float
    low: float | None = None
    high: float | None = None

    def lies_above(self, bound: float) -> bool:
        """Whether the whole interval is above `bound`; no interval lies anywhere."""
        return self.low is not None and self.low > bound

    def lies_below(self, bound: float) -> bool:
        return self.high is not None and self.high < bound

    def shown(self, form: str, sign: str = "") -> str:
        """`+37.2 [29.3, 45.1]` for the format `.1f` and the sign `+`."""
        ends = [f"{end:{form}}" for end in (self.low, self.high) if end is not None]
        span = f" [{', '.join(ends)}]" if ends else ""
        return f"{self.mean:{sign}{form}}{span}".replace("-", "−")

    def over(self, divisor: float) -> Self:
        """The interval of the mean divided by a positive number."""
        ends = (None if end is None else end / divisor for end in (self.low, self.high))
        return type(self)(self.mean / divisor, *ends)

    def widened(self, factor: float) -> Self:
        if self.low is None or self.high is None:
            return self
        reach = (self.high - self.low) / 2 * factor
        return type(self)(self.mean, self.mean - reach, self.mean + reach)


@dataclass(frozen=True, slots=True)
class Sample:
    """`n` finite values. `sd`: with ddof = 1, not a number below two. `flat`: whether all are
    equal."""

    n: int
    mean: float
    sd: float
    flat: bool

    @property
    def interval(self) -> tuple[float, float] | None:
        """The two-sided 95 % confidence interval of the mean; None for fewer than two values."""
        if self.n < 2:
            return None
        reach = _reach(self.sd, self.n)
        return self.mean - reach, self.mean + reach


def t_quantile(level: float, df: float) -> float:
    """The quantile of Student's t: level 0.95 is the one-sided 5 % bound."""
    from scipy import special

    return float(special.stdtrit(df, level))


def _reach(sd: float, n: int, level: float = 1 - LEVEL) -> float:
    return t_quantile(0.5 + level / 2, n - 1) * sd / math.sqrt(n)


def describe(values: Sequence[float]) -> Sample | None:
    """A sample in numbers; None where these are not finite, or the sample is empty."""
    found = np.array(values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(found.mean()) if found.size else math.nan
        sd = float(found.std(ddof=1)) if found.size > 1 else math.nan
    if not math.isfinite(mean) or (found.size > 1 and not math.isfinite(sd)):
        return None
    return Sample(found.size, mean, sd, is_flat(found))


def is_flat(values: Floats, step: float = 0.0) -> bool:
    """Whether values are equal but for rounding; `step`: that of what they are differences of."""
    return bool(np.ptp(values) <= max(step, _EQUAL * float(np.abs(values).max())))


def tie(unit: str | None, largest: float) -> float:
    """The difference up to which two values are equal: 1e-5 points, or 1e-7 of the largest."""
    return _FLOAT32 * (100.0 if unit == "%" else largest)


def t_interval(values: ArrayLike, level: float = 1 - LEVEL, step: float = _EQUAL) -> Interval:
    """The mean of `values` ([n], at least one) with its two-sided interval at `level`. `step`:
    values that differ by no more are equal, and leave no interval."""
    found = np.asarray(values, np.float64)
    mean = float(found.mean())
    if found.size < 2 or is_flat(found, step):
        return Interval(mean)
    reach = _reach(float(found.std(ddof=1)), found.size, level)
    return Interval(mean, mean - reach, mean + reach)


def detectable(sd: float, n: int, level: float = 1 - LEVEL) -> float | None:
    """The smallest mean that a t-test of `n` trials shows with a power of 80 % (noncentral t). None
    beyond fifty standard errors, or where equal trials have no spread. `sd`: of one trial."""
    from scipy import optimize, stats

    critical, power = t_quantile(0.5 + level / 2, n - 1), 0.8
    if sd == 0 or stats.nct.sf(critical, n - 1, _FARTHEST) < power:
        return None
    shift = optimize.brentq(lambda d: stats.nct.sf(critical, n - 1, d) - power, 0, _FARTHEST)
    return sd / math.sqrt(n) * float(shift)


def shares(counts: Sequence[int], declared: int) -> list[float]:
    """The share of the level that each interim analysis may spend; they add up to at most one.

    The spending function f(t) = ln(1 + (e - 1) t) of the share t of declared trials has boundaries
    about as constant as those of Pocock 1977. The union bound keeps the level for any test.

    `counts`: of trials at each of them; those beyond `declared` (at least 1) have nothing to spend.
    """
    found, spent = [], 0.0
    for count in counts:
        due = max(spent, math.log1p((math.e - 1) * min(1.0, count / declared)))
        found.append(due - spent)
        spent = due
    return found


def reached(looks: Sequence[int], trials: int) -> tuple[int, float]:
    """How many of some paired trials count, and the level of their intervals. `looks`: declared
    numbers of trials, rising; where none is reached, all count at the whole level."""
    found = [look for look in looks if look <= trials]
    if not found:
        return trials, 1 - LEVEL
    return found[-1], 1 - LEVEL * shares(found, looks[-1])[-1]
