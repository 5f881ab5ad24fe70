"""Which trials are worth most next: those that decide most claims a second, as far as one can tell.

Everything here follows from the printed numbers, the claims' p-values and the estimated seconds
alone, so that the same store and the same estimates always give the same trials in the same order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from ..config import RunConfig
from ..results import ClaimResult
from ..stats.looks import shares
from ..stats.t_tests import LEVEL
from .summary import Trial

UNKNOWN = 0.5
"""Chance that a claim is decided at its first look, before which nothing is known of it."""
UNSUPPORTED = 0.2
"""What the decision of a claim is worth of which no printed numbers say that it holds, for one that
they bear out: whether what is printed comes out is the first question."""
_BAND = 0.1
"""What is worth less than a tenth of the best waits for another step, which begins with a look."""
_LEAST_P = 1e-9
_LEAST_S = 1e-9
_NORMAL = NormalDist()
Name = tuple[str, int]
"""A run's key and a seed: a trial."""


@dataclass(frozen=True)
class OpenClaim:
    """A claim that more trials may decide.

    look: the number of trials at which it is looked at next.
    trials: those that it lacks until then, each after those that it starts from.
    chance: that it is decided then.
    supported: whether the printed numbers bear it out.
    """

    table: str
    id: str
    look: int
    trials: tuple[Trial, ...]
    chance: float
    supported: bool = True


def chance_of_decision(result: ClaimResult, now: int, then: int, declared: int) -> float:
    """The chance that a claim with `now` trials is decided at its look at `then`.

    A normal approximation. The statistic of a comparison, z with n trials, is expected at
    z * sqrt(then / now) with a variance of then / now - 1: that of the mean of the coming trials
    about the mean seen, its own uncertainty included. All comparisons must pass at the level that
    the look may spend (the least chance counts), or one opposite at its part of that level. A tie
    is left out: it is no last word while a look may still show a difference.
    """
    tested = [one for one in result.comparisons if one.p is not None and not one.exact]
    share = shares((now, then), declared)[1]
    if not tested or share <= 0:
        return 0.0
    level = LEVEL * share
    shown = min(_passes(one.p, now, then, level) for one in tested)
    other = max(_passes(one.p_reversed, now, then, level / len(tested)) for one in tested)
    return min(1.0, shown + other)


def _passes(p: float | None, now: int, then: int, level: float) -> float:
    """The chance that a one-sided p-value of `now` trials is at most `level` with `then`."""
    if p is None:
        return 0.0
    z = -_NORMAL.inv_cdf(min(max(p, _LEAST_P), 1 - _LEAST_P))
    expected, sd = z * math.sqrt(then / now), math.sqrt(then / now - 1)
    return 1 - _NORMAL.cdf((-_NORMAL.inv_cdf(level) - expected) / sd)


def worth_most(claims: Sequence[OpenClaim], seconds: Callable[[RunConfig], float]) -> list[Trial]:
    """The trials of the next step in order: claim by claim, the most decisions a second first.

    Trials that several claims need are counted once: whoever comes later has them for nothing.
    Ends before claims that are worth far less than the first, which a look may change.
    """
    left = dict(enumerate(claims))
    price = {i: _priced(one.trials, seconds) for i, one in left.items()}
    cost = {i: sum(of.values()) for i, of in price.items()}
    needs: Mapping[Name, list[int]] = defaultdict(list)
    for i, of in price.items():
        for name in of:
            needs[name].append(i)
    chosen: dict[Name, Trial] = {}
    best = None
    while left:
        first = max(left, key=lambda i: (_rate(left[i], cost[i]), -i))
        claim, rate = left.pop(first), _rate(claims[first], cost[first])
        if cost[first] > _LEAST_S:
            best = rate if best is None else best
            if rate < _BAND * best:
                break
        for run, seed in claim.trials:
            name = run.key, seed
            if name not in chosen:
                chosen[name] = run, seed
                for i in needs[name]:
                    cost[i] -= price[i][name]
    return list(chosen.values())


def _priced(trials: Sequence[Trial], seconds: Callable[[RunConfig], float]) -> dict[Name, float]:
    return {(run.key, seed): max(seconds(run), _LEAST_S) for run, seed in trials}


def _rate(claim: OpenClaim, seconds: float) -> float:
    worth = claim.chance if claim.supported else UNSUPPORTED * claim.chance
    return worth / max(seconds, _LEAST_S)
