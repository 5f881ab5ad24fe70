"""Looking more than once: how 5 % are spent over looks that were declared beforehand.

Whoever adds trials until a test passes errs in 11 to 16 % of cases. Here each look has a share of
the level, by the spending function f(t) = ln(1 + (e - 1) t) of the share t of declared trials: its
boundaries are about as constant as those of Pocock 1977. The shares add up to one, so the union
bound keeps the level for any test, however its looks depend on each other.

Source: Lan and DeMets, Discrete sequential boundaries for clinical trials, Biometrika 1983.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .t_tests import LEVEL


def shares(counts: Sequence[int], declared: int) -> list[float]:
    """The share of the level that each look may spend; they add up to at most one.

    counts: of trials at each look. A look that adds no trial to an earlier one has share 0, and
    trials beyond `declared` have none left to spend.

    Raises `ValueError` if `declared` is not positive, or a count is negative.
    """
    if declared < 1 or min(counts, default=0) < 0:
        raise ValueError(f"looks at {list(counts)} of {declared} declared trials")
    found, spent = [], 0.0
    for count in counts:
        due = max(spent, math.log1p((math.e - 1) * min(1.0, count / declared)))
        found.append(due - spent)
        spent = due
    return found


def reached(looks: Sequence[int], trials: int) -> tuple[int, float]:
    """How many of some paired trials count, and the level of their intervals.

    looks: declared numbers of trials, rising. None declared, or none reached, counts all trials at
    the whole level.
    """
    found = [look for look in looks if look <= trials]
    if not found:
        return trials, 1 - LEVEL
    return found[-1], 1 - LEVEL * shares(found, looks[-1])[-1]
