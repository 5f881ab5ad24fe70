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
from dataclasses import dataclass


@dataclass(frozen=True)
class Looks:
    """When a claim was looked at.

    Attributes:
        counts: of paired trials at each look, rising; the last is this one.
        declared: the number of trials that was declared before the first look.
    """

    counts: tuple[int, ...]
    declared: int


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


def sequential_p(p_values: Sequence[float], shares: Sequence[float]) -> float:
    """One p-value of all looks: the smallest p_k / share_k, at most 1.

    A look without a share counts as p = 1. Under the null hypothesis it is at most alpha with
    probability at most the sum of alpha * share_k <= alpha.
    """
    spent = [p / share for p, share in zip(p_values, shares, strict=True) if share > 0]
    return min(1.0, *spent) if spent else 1.0
