"""Verdicts: what may be said about a printed number, given our trials and a margin.

Pure functions over numbers; `docs/verdicts.md` defines the words. Choices made here:

- Rounding is held against whatever is claimed: equivalence must hold for the farthest value that
  prints like the published one, discrepancy for the nearest.
- Where the paper prints no spread for the experiment, its value is one more draw from the
  distribution of our trials (SE = s * sqrt(1 + 1/n), n - 1 degrees of freedom). That is right only
  if it spreads as ours do, so the verdict says up to which ratio of the spreads it stands. No
  ratio is demanded: none has a source, and the sentence with its ratio keeps 5 % whatever the
  truth is (see `_stands_to`).
- A borrowed spread (`judging.published_value`) is not known to be the larger or the smaller one:
  both it and ours must allow what is said.
- Our own deviations are not pooled: cells of a table share seeds, so their errors are dependent.
- Trials that all gave one value leave their spread unknown, and decide nothing.

`tests/benchmark/test_verdict_error_rates.py` simulates the error rates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..results import Detail, Verdict, word_of
from ..stats.intervals import Sample, describe
from ..stats.spread import MOST_TRIALS, standard_errors, trials_needed
from ..stats.t_tests import LEVEL, Floats, holm, p_beyond, p_equivalent, p_text, t_quantile
from .published_value import PublishedValue

RATIOS = (1.5, 2.0, 3.0)
"""Spreads of the paper, in units of ours, under which a verdict is asked for again."""


@dataclass(frozen=True)
class JudgedCell:
    """What a verdict rests on, in the table's unit. limit: the largest possible value, if any."""

    published: PublishedValue
    trials: tuple[float, ...]
    margin: float
    limit: float | None = None


@dataclass(frozen=True)
class Assessment:
    """The numbers behind one verdict, before any word is chosen.

    nearest, farthest: the smallest and the largest |difference| that rounding allows. errors: of
    the difference, with degrees of freedom; all must be allowed. p_beyond: not corrected over the
    table.
    """

    ours: Sample
    difference: float
    nearest: float
    farthest: float
    errors: Sequence[tuple[Floats, Floats]]
    p_equivalent: float
    p_beyond: float

    def half_width(self, level: float) -> float:
        """Of the interval of the difference whose bounds hold at this one-sided level each."""
        return max(t_quantile(level, float(df)) * float(error) for error, df in self.errors)


def assess(cell: JudgedCell, ratio: float = 1.0) -> Assessment | None:
    """The numbers behind a verdict; None where the trials have no spread to work with.

    ratio: of the paper's spread to ours, where the paper prints none.
    """
    trials, published = describe(cell.trials), cell.published
    if trials is None or trials.n < 2 or trials.flat:
        return None
    mean = trials.mean
    nearest = max(0.0, published.low - mean, mean - published.high)
    farthest = max(abs(mean - published.low), abs(mean - published.high))
    errors = standard_errors(trials.sd, trials.n, published.spread, ratio)
    return Assessment(
        ours=trials,
        difference=mean - published.value,
        nearest=nearest,
        farthest=farthest,
        errors=errors,
        p_equivalent=max(float(p_equivalent(farthest, *one, cell.margin)) for one in errors),
        p_beyond=max(float(p_beyond(nearest, *one, cell.margin)) for one in errors),
    )


def judge_table(cells: Sequence[JudgedCell], suffix: str = "") -> list[Verdict]:
    """Verdicts of the judged cells of one table, DISCREPANT corrected over all of them (Holm).

    suffix: follows a number in the reasons, such as " points".
    """
    assessed = _assessed(cells, 1.0)
    tests = sum(one is not None for one, _ in assessed)
    is_unknown = any(one.published.spread is None for one in cells)
    noisier = [_assessed(cells, ratio) for ratio in RATIOS if is_unknown]
    verdicts = []
    for cell, (one, p), *others in zip(cells, assessed, *noisier, strict=True):
        if one is None:
            verdicts.append(_undecided(cell))
            continue
        verdict = _verdict(cell, one, p, tests, suffix)
        if cell.published.spread is None:
            words = [_word(cell.margin, other, p) for other, p in others if other is not None]
            verdict = _under(verdict, cell, one, words)
        verdicts.append(verdict)
    return verdicts


def _assessed(cells: Sequence[JudgedCell], ratio: float) -> list[tuple[Assessment | None, float]]:
    """The numbers of every cell, and its p-value for DISCREPANT after the correction.

    ratio: of the paper's spread to that of our trials, wherever it prints none.
    """
    assessed = [assess(cell, ratio) for cell in cells]
    adjusted = iter(holm([one.p_beyond for one in assessed if one is not None]))
    return [(one, 1.0 if one is None else next(adjusted)) for one in assessed]


def _word(margin: float, one: Assessment, p_discrepant: float) -> Detail:
    # Half the width of the interval in which a replication's mean falls with 95 % probability.
    replication = one.half_width(0.975)
    rounding = one.farthest - abs(one.difference)
    if one.p_equivalent < LEVEL:
        return "REPRODUCED"
    if p_discrepant < LEVEL:
        return "DISCREPANT"
    if one.nearest > replication:
        return "SHIFTED"
    if one.farthest <= replication and replication + rounding <= margin:
        return "COMPATIBLE"
    return "INCONCLUSIVE"


def _undecided(cell: JudgedCell) -> Verdict:
    n = len(cell.trials)
    difference = float(np.mean(cell.trials)) - cell.published.value if n else None
    if n < 2:
        reason = f"{n} trial{'s' if n != 1 else ''}: a spread needs at least two."
        return Verdict("INCONCLUSIVE", reason, difference=difference, trials_needed=2)
    reason = f"All {n} trials gave the same value, so their spread is not known."
    if cell.limit is not None and math.isclose(cell.trials[0], cell.limit):
        reason += f" It is the most there is, {cell.limit:.3g}, where nothing can be told apart."
    return Verdict("INCONCLUSIVE", reason, difference=difference)


def _verdict(
    cell: JudgedCell, one: Assessment, p_discrepant: float, tests: int, suffix: str
) -> Verdict:
    half = one.half_width(1 - LEVEL)
    word, needed = _word(cell.margin, one, p_discrepant), None
    shown = f"difference {one.difference:+.3g}{suffix}".replace("-", "−")
    margin = f"±{cell.margin:.3g}{suffix}"
    within = f"±{one.half_width(0.975):.3g}{suffix} in which 95 % of replications fall"
    if word == "REPRODUCED":
        reason = (
            f"The {shown} and its 90 % interval, rounding included, lie within "
            f"{margin} ({p_text(one.p_equivalent)})."
        )
    elif word == "DISCREPANT":
        reason = (
            f"The {shown} lies beyond {margin} "
            f"({p_text(p_discrepant)} after Holm's correction over the table)."
        )
    elif word == "SHIFTED":
        reason = f"The {shown} is outside the {within}, but not shown to be beyond {margin}."
    elif word == "COMPATIBLE":
        reason = f"The {shown} is inside the {within}; equivalence within {margin} is not shown."
    else:
        distances, ours = (one.farthest, one.nearest), (one.ours.sd, one.ours.n)
        needed = trials_needed(*distances, *ours, cell.published.spread, cell.margin, tests)
        none = f"no number of trials up to {MOST_TRIALS}"
        number = none if needed is None else f"about {needed} trials"
        error = max(float(error) for error, _ in one.errors)
        reason = (
            f"The {shown} with standard error {error:.3g}{suffix} is neither shown to be "
            f"within {margin} nor beyond; {number} would decide at this difference and spread."
        )
    if cell.published.note:
        reason = f"{reason} {cell.published.note}"
    interval = (one.difference - half, one.difference + half)
    return Verdict(word, reason, one.difference, interval, needed)


def _under(verdict: Verdict, cell: JudgedCell, one: Assessment, words: Sequence[Detail]) -> Verdict:
    """A verdict that says how it hangs on a spread which the paper does not print."""
    known = replace(verdict, if_noisier=tuple(zip(RATIOS, words, strict=True)))
    if verdict.detail == "REPRODUCED":
        most = _stands_to(cell.margin, one)
        # With one decimal, never rounded up.
        shown = f"{math.floor(most * 10) / 10:.1f}" if most < 100 else "100"
        more = (
            "This stands as long as the paper's spread, which it does not print, is at most "
            f"{shown} times ours."
        )
        return replace(known, reason=f"{verdict.reason} {more}", stands_to=most)
    changed = [
        f"{word_of(word)} if it is {ratio:g} times ours"
        for ratio, word in zip(RATIOS, words, strict=True)
        if word_of(word) != verdict.word
    ]
    if not changed:
        return known
    more = f"The paper's spread is not printed and taken to be ours; {', '.join(changed)}."
    return replace(known, reason=f"{verdict.reason} {more}")


def _stands_to(margin: float, one: Assessment) -> float:
    """The largest ratio of the paper's spread to ours at which the cell is still REPRODUCED.

    From farthest + t * s * sqrt(1/n + r^2) = margin. For a true ratio r the event that the answer
    is at least r is the very one that the test at r rejects, so "REPRODUCED up to this ratio" is
    wrong in at most 5 % of cases for every r.
    """
    ours = one.ours
    reach = (margin - one.farthest) / (t_quantile(1 - LEVEL, ours.n - 1) * ours.sd)
    return math.sqrt(max(1.0, reach**2 - 1 / ours.n))
