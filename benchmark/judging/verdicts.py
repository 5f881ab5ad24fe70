"""Verdicts: what may be said about a printed number, given our trials and a margin.

Pure functions over numbers; `docs/verdicts.md` defines the words. Choices made here:

- Rounding is held against whatever is claimed: equivalence must hold for the farthest value that
  prints like the published one, discrepancy for the nearest. A printed deviation counts with its
  upper rounding bound, which widens every interval.
- Where the paper prints no spread, its value is one more draw from the distribution of our trials
  (SE = s * sqrt(1 + 1/n), n - 1 degrees of freedom).
- Our own deviations are not pooled: cells of a table share seeds, so their errors are dependent.
- The test behind DISCREPANT counts both tails (`stats.t_tests.p_beyond`).
- Trials that all gave one value leave their spread unknown, and decide nothing.

`tests/benchmark/test_verdict_error_rates.py` simulates the error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedrepro.benchmark.results import Verdict
from fedrepro.benchmark.spec.printed import Printed, half_unit
from fedrepro.benchmark.stats.samples import describe
from fedrepro.benchmark.stats.spread import (
    MOST_TRIALS,
    Spread,
    borrow,
    standard_error,
    trials_needed,
    unbiased_sd,
)
from fedrepro.benchmark.stats.t_tests import holm, p_beyond, p_equivalent, t_quantile

LEVEL = 0.05


@dataclass(frozen=True)
class Published:
    """The published side of a cell.

    low, high: bounds of what rounds to the printed value.
    spread: None where the paper prints none for this value, which is then a single run.
    """

    value: float
    low: float
    high: float
    spread: Spread | None = None


@dataclass(frozen=True)
class JudgedCell:
    """All that a judged cell's verdict rests on. Values are in the table's unit."""

    published: Published
    trials: tuple[float, ...]
    margin: float


@dataclass(frozen=True)
class Assessment:
    """The numbers behind one verdict, before any word is chosen.

    ours: spread of the trials.
    difference: mean of the trials minus published value.
    nearest, farthest: the smallest and the largest |difference| that rounding allows.
    error, df: standard error of the difference and its degrees of freedom.
    p_equivalent: p-value that the difference is inside the margin.
    p_beyond: p-value that it is outside, not yet corrected.
    """

    ours: Spread
    difference: float
    nearest: float
    farthest: float
    error: float
    df: float
    p_equivalent: float
    p_beyond: float


def published_sides(
    printed: Sequence[Printed], *, ddof: int | None, runs: int | None
) -> list[Published]:
    """The published sides of one table's numbers, their spreads pooled where they are alike.

    ddof: None where the paper does not say which; 0 is taken, which makes the larger deviation of
    it and so the wider interval.

    Raises `ValueError` for a printed spread whose number of runs is not known.
    """
    deviations = []
    for one in printed:
        if one.sd is None:
            continue
        if runs is None:
            raise ValueError(
                f"'{one.text} ± {one.sd}' has a spread, but the spec's [sd] gives no runs"
            )
        deviations.append(unbiased_sd(float(one.sd + half_unit(one.sd)), ddof=ddof or 0, runs=runs))
    pooled = iter(borrow(deviations, [runs or 0] * len(deviations)))
    sides = []
    for one in printed:
        low, high = one.bounds
        assert one.value is not None
        spread = next(pooled) if one.sd is not None else None
        sides.append(Published(float(one.value), float(low), float(high), spread))
    return sides


def assess(cell: JudgedCell) -> Assessment | None:
    """The numbers behind a verdict; None where the trials have no spread to work with."""
    trials = describe(cell.trials)
    if trials is None or trials.n < 2 or trials.flat:
        return None
    published, mean = cell.published, trials.mean
    nearest = max(0.0, published.low - mean, mean - published.high)
    farthest = max(abs(mean - published.low), abs(mean - published.high))
    ours = Spread(trials.sd, trials.n - 1, trials.n)
    error, df = standard_error(ours, published.spread)
    return Assessment(
        ours=ours,
        difference=mean - published.value,
        nearest=nearest,
        farthest=farthest,
        error=error,
        df=df,
        p_equivalent=p_equivalent(farthest, error, df, cell.margin),
        p_beyond=p_beyond(nearest, error, df, cell.margin),
    )


def judge_table(cells: Sequence[JudgedCell], suffix: str = "") -> list[Verdict]:
    """Verdicts of the judged cells of one table, DISCREPANT corrected over all of them (Holm).

    suffix: follows a number in the reasons, such as " points".
    """
    assessed = list(map(assess, cells))
    adjusted = iter(holm([one.p_beyond for one in assessed if one is not None]))
    return [
        _undecided(cell) if one is None else _word(cell, one, next(adjusted), suffix)
        for cell, one in zip(cells, assessed, strict=True)
    ]


def _undecided(cell: JudgedCell) -> Verdict:
    n = len(cell.trials)
    difference = float(np.mean(cell.trials)) - cell.published.value if n else None
    if n < 2:
        reason = f"{n} trial{'s' if n != 1 else ''}: a spread needs at least two."
        return Verdict("INCONCLUSIVE", reason, difference=difference, trials_needed=2)
    reason = f"All {n} trials gave the same value, so their spread is not known."
    return Verdict("INCONCLUSIVE", reason, difference=difference)


def _word(cell: JudgedCell, one: Assessment, p_discrepant: float, suffix: str) -> Verdict:
    margin = cell.margin
    half = t_quantile(1 - LEVEL, one.df) * one.error
    interval = (one.difference - half, one.difference + half)
    # Half the width of the interval in which a replication's mean falls with 95 % probability.
    replication = t_quantile(0.975, one.df) * one.error
    rounding = one.farthest - abs(one.difference)
    shown = f"difference {_signed(one.difference)}{suffix}"
    within = f"{_plain(replication)}{suffix} in which 95 % of replications fall"

    def verdict(word: str, reason: str, needed: int | None = None) -> Verdict:
        return Verdict(word, reason, one.difference, interval, needed)  # type: ignore[arg-type]

    if one.p_equivalent < LEVEL:
        return verdict(
            "REPRODUCED",
            f"The {shown} and its 90 % interval, rounding included, lie within "
            f"±{_plain(margin)}{suffix} ({_p(one.p_equivalent)}).",
        )
    if p_discrepant < LEVEL:
        return verdict(
            "DISCREPANT",
            f"The {shown} lies beyond ±{_plain(margin)}{suffix} "
            f"({_p(p_discrepant)} after Holm's correction over the table).",
        )
    if one.nearest > replication:
        return verdict(
            "SHIFTED",
            f"The {shown} is outside the ±{within}, but not shown to be beyond "
            f"±{_plain(margin)}{suffix}.",
        )
    if one.farthest <= replication and replication + rounding <= margin:
        return verdict(
            "COMPATIBLE",
            f"The {shown} is inside the ±{within}; equivalence within "
            f"±{_plain(margin)}{suffix} is not shown.",
        )
    needed = trials_needed(one.farthest, one.nearest, one.ours, cell.published.spread, margin)
    number = (
        f"no number of trials up to {MOST_TRIALS}" if needed is None else f"about {needed} trials"
    )
    return verdict(
        "INCONCLUSIVE",
        f"The {shown} with standard error {_plain(one.error)}{suffix} is neither shown to be "
        f"within ±{_plain(margin)}{suffix} nor beyond; {number} would decide at this difference "
        "and spread.",
        needed,
    )


def _plain(value: float) -> str:
    return f"{value:.3g}"


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
