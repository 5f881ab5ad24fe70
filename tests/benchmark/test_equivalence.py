"""Paired equivalence beside statsmodels' two one-sided tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from tools.equivalence import paired_equivalence


@pytest.mark.parametrize("n", [2, 5, 8, 30])
@pytest.mark.parametrize("shift", [0.0, 0.3, -0.9, 4.0])
@pytest.mark.parametrize("margin", [0.2, 1.0])
def test_it_is_the_test_of_statsmodels_and_its_interval_says_the_same(
    n: int, shift: float, margin: float
) -> None:
    random = np.random.default_rng(n)
    one = random.normal(70, 3, n)
    other = one + random.normal(shift, 0.5, n)
    found = paired_equivalence((other - one).tolist(), margin)
    assert found.p == pytest.approx(ttost_paired(other, one, -margin, margin)[0], abs=1e-10)
    low, high = found.interval
    assert found.is_shown == (-margin < low and high < margin)
    assert (low + high) / 2 == pytest.approx(found.mean)


def test_pairs_without_spread_leave_the_sign_test() -> None:
    assert paired_equivalence([0.0] * 8, 0.5).p == 0.5**8
    assert not paired_equivalence([0.0] * 3, 0.5).is_shown
    assert paired_equivalence([0.7] * 8, 0.5).p == 1


def test_what_tells_nothing_is_refused() -> None:
    for differences, margin in (([0.1], 1.0), ([0.1, 0.2], 0.0), ([0.1, math.nan], 1.0)):
        with pytest.raises(ValueError, match="tell nothing"):
            paired_equivalence(differences, margin)
