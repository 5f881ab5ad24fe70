"""Is the mean of paired differences inside a margin? Two one-sided t tests at 5 % (TOST).

Source: Schuirmann 1987. The 90 % interval lies inside the margin exactly where both tests reject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedrepro.benchmark.stats.samples import describe
from fedrepro.benchmark.stats.t_tests import LEVEL, p_equivalent, t_quantile


@dataclass(frozen=True, slots=True)
class Equivalence:
    """mean: of the differences. interval: 90 %. p: that the true mean lies inside the margin."""

    mean: float
    interval: tuple[float, float]
    p: float

    @property
    def is_shown(self) -> bool:
        """Whether the 5 % level says so."""
        return self.p <= LEVEL


def paired_equivalence(differences: Sequence[float], margin: float) -> Equivalence:
    """Whether pairs are the same within `margin`; differences: of each pair, at least two.

    Differences that are all equal leave t no spread to work with: 2^-n of the sign test stands in
    where they lie inside the margin, else 1.

    Raises `ValueError` for fewer than two pairs, one that is not finite, or a margin of 0 or less.
    """
    if len(differences) < 2 or margin <= 0:
        raise ValueError(f"{len(differences)} pairs and a margin of {margin} tell nothing")
    sample = describe(differences)
    if sample is None:
        raise ValueError("differences that are not finite tell nothing")
    if sample.flat:
        inside = abs(sample.mean) < margin
        return Equivalence(sample.mean, (sample.mean,) * 2, 0.5**sample.n if inside else 1.0)
    reach = t_quantile(1 - LEVEL, sample.n - 1) * sample.error
    return Equivalence(
        sample.mean,
        (sample.mean - reach, sample.mean + reach),
        p_equivalent(sample.mean, sample.error, sample.n - 1, margin),
    )
