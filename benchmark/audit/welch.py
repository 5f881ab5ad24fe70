"""Is a difference of printed means significant, by their printed spreads? Bounds over rounding.

For a sum of means with weights w, Welch's t is sum(w m) / SE with SE^2 = sum(w^2 s^2 / n), its
degrees of freedom are between the least n - 1 and the sum of all n - 1 (Welch 1947, Satterthwaite
1946). s^2 = SD^2 n / (n - ddof') where ddof' is 1 for a printed population SD (ddof 0), else the
printed one is s already. Means of different rows are taken as independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt

from ..claims.printed import Interval

LEVEL = 0.05
"""Two-sided; what 'significant' means where a paper does not say."""


@dataclass(frozen=True)
class Mean:
    """A printed mean with its weight in a sum, the interval of its printed SD, and the runs.

    ddofs: the kinds of SD that may be printed.
    """

    weight: Fraction
    value: Interval
    sd: Interval
    runs: int
    ddofs: tuple[int, ...]

    @property
    def error(self) -> tuple[float, float]:
        """The range of w^2 s^2 / n."""
        low, high = (float(max(end, Fraction(0))) ** 2 for end in self.sd)
        share = float(self.weight) ** 2
        # SD^2 n / (n - 1) / n for a population SD, SD^2 / n for a sample's.
        extremes = max(self.ddofs), min(self.ddofs)
        least, most = (share / (self.runs - 1 if d == 0 else self.runs) for d in extremes)
        return low * least, high * most


@dataclass(frozen=True)
class Test:
    """Bounds of a difference, its standard error, t without its sign, and the two-sided p."""

    difference: tuple[float, float]
    error: tuple[float, float]
    t: tuple[float, float]
    p: tuple[float, float]


def compare(means: Sequence[Mean]) -> Test:
    """Welch's test of a weighted sum of means against zero.

    p is bounded from both sides: no values that print so have one beyond.
    """
    from scipy.stats import t as student  # only an audit needs it

    ends = [sorted(one.weight * end for end in one.value) for one in means]
    low, high = (sum(side, Fraction(0)) for side in zip(*ends, strict=True))
    least, most = (sqrt(sum(side)) for side in zip(*(one.error for one in means), strict=True))
    near, far = 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
    t = _ratio(float(near), most), _ratio(float(far), least)
    freedom = [one.runs - 1 for one in means]
    smallest = 2 * float(student.sf(t[1], sum(freedom)))
    largest = 2 * float(student.sf(t[0], min(freedom)))
    return Test((float(low), float(high)), (least, most), t, (smallest, largest))


def _ratio(difference: float, error: float) -> float:
    return difference / error if error else (inf if difference else 0.0)
