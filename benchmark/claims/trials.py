"""Do our own trials show a claim? Paired differences, one-sided t tests, Holm over the table.

- Trials are paired by seed: a comparison uses the seeds that all of its cells have.
- A claim is a conjunction: by the intersection-union principle its p-value is the largest of its
  comparisons'. It is REVERSED where one comparison is significantly opposite (Bonferroni over its
  comparisons). Both are Holm-corrected over the claims of the table.
- `~ t` is shown by two one-sided tests, `=` by the same against the table's margin, or the
  narrowest that a named cell has of its own, the rounding of the printed number held against it;
  `=` is never judged on scaled runs.
- A claim of every trial is shown by the sign test that only unanimous trials pass: 2^-n where all n
  differences go the stated way, else 1. Equality has no sign, so such claims have > and < alone.
- A claim on a cell that lacks a trial is UNRESOLVED: which trials fail may hang on what they would
  have given, so those that are left show nothing.
- Where all differences are equal, t has no spread to work with: the sign test's 2^-n stands in (1
  where a strict comparison ties in every trial).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedrepro.benchmark.claims.grammar import Number
from fedrepro.benchmark.claims.nodes import (
    Aggregate,
    Arithmetic,
    CellKey,
    Elementary,
    Leaf,
    Node,
    show,
)
from fedrepro.benchmark.claims.printed import support
from fedrepro.benchmark.results import ClaimResult, Comparison
from fedrepro.benchmark.spec.model import Claim
from fedrepro.benchmark.spec.printed import half_unit
from fedrepro.benchmark.stats.looks import Looks
from fedrepro.benchmark.stats.samples import Sample, describe, mean_interval
from fedrepro.benchmark.stats.t_tests import holm, p_beyond, p_equivalent, t_upper

LEVEL = 0.05
TOO_FEW = "Fewer trials than planned decide nothing."
Word = Literal["HOLDS", "REVERSED", "UNRESOLVED", "NOT RUN"]
Values = Mapping[CellKey, Mapping[int, float]]
"""By cell: its trials by seed, in the unit of the table; no entry where nothing was run."""


@dataclass(frozen=True)
class ClaimContext:
    """What judging a table's claims needs besides the claims.

    values: all trials of the paper.
    margin, unit: of the claims' own table.
    scaled: cells whose runs depart from the published protocol.
    reasons: why a cell has no trials.
    incomplete: of a cell that has fewer trials than planned, how many and why.
    looks: by claim id, when it was looked at; absent means once, at the trials there are.
    """

    values: Values
    margin: float | None
    unit: str | None
    scaled: frozenset[CellKey]
    reasons: Mapping[CellKey, str]
    incomplete: Mapping[CellKey, str] = field(default_factory=dict)
    looks: Mapping[str, Looks] = field(default_factory=dict)


@dataclass(frozen=True)
class _Judged:
    """A claim's comparisons and p-values, or word and reason where there are none."""

    comparisons: tuple[Comparison, ...]
    p: float | None = None
    p_reversed: float | None = None
    untested: tuple[Word, str] | None = None


def judge_claims(
    claims: Sequence[tuple[Claim, Sequence[Elementary]]], context: ClaimContext
) -> tuple[ClaimResult, ...]:
    """The claims of one table, with words corrected over all of them that were tested."""
    judged = [
        _judge(
            comparisons,
            tuple(_compared(one, context, claim.every_trial) for one in comparisons),
            context,
        )
        for claim, comparisons in claims
    ]
    shown_p = iter(holm([one.p for one in judged if one.p is not None]))
    reversed_p = iter(holm([one.p_reversed for one in judged if one.p_reversed is not None]))
    results = []
    for (claim, comparisons), one in zip(claims, judged, strict=True):
        p = next(shown_p) if one.p is not None else None
        opposite = next(reversed_p) if one.p_reversed is not None else None
        word, reason = _word(one, p, opposite)
        supported, why = support(comparisons)
        results.append(
            ClaimResult(
                id=claim.id,
                says=claim.says,
                holds=claim.holds,
                support=supported,
                support_reason=why,
                word=word,
                reason=reason,
                p_adjusted=p,
                comparisons=one.comparisons,
            )
        )
    return tuple(results)


def _compared(comparison: Elementary, context: ClaimContext, every_trial: bool) -> Comparison:
    """A comparison with its differences by seed, left minus right, and p-values of two trials up.

    Where a divisor is zero in some trial, there are no differences either.
    """
    seeds = _paired_seeds(comparison, context.values)
    left, right = (
        _evaluate(side, context.values, seeds) for side in (comparison.left, comparison.right)
    )
    differences: list[float] = (left - right).tolist()
    sample = describe(differences)
    p = p_reversed = None
    if sample is not None and sample.n >= 2:
        if every_trial:
            p, p_reversed = unanimous(differences)
            if comparison.relation == "<":
                p, p_reversed = p_reversed, p
        else:
            p, p_reversed = _p_values(comparison, sample, context)
    return Comparison(
        text=comparison.text,
        published_left=show(comparison.left),
        published_right=show(comparison.right),
        differences=() if sample is None else tuple(differences),
        mean=None if sample is None else sample.mean,
        interval=mean_interval(sample),
        p=p,
        p_reversed=p_reversed,
        relation=comparison.relation,
    )


def _paired_seeds(comparison: Elementary, values: Values) -> list[int]:
    """The seeds that all cells of a comparison have."""
    trials = [values.get(leaf.key, {}).keys() for leaf in comparison.leaves]
    return sorted(set[int]().union(*trials[:1]).intersection(*trials[1:]))


def one_sided(differences: Sample) -> tuple[float, float]:
    """P-values that the mean is above zero, and that it is below.

    Differences that are all equal give the sign test's 2^-n.
    """
    mean = differences.mean
    if differences.flat:
        sign = 0.5**differences.n
        if abs(mean) <= 1e-12:
            return 1.0, 1.0
        return (sign, 1.0) if mean > 0 else (1.0, sign)
    error, df = differences.error, differences.n - 1
    return t_upper(mean / error, df), t_upper(-mean / error, df)


def unanimous(differences: Sequence[float]) -> tuple[float, float]:
    """P-values of the sign test where all differences are above zero, and all below; else 1."""
    sign = 0.5 ** len(differences)
    above, below = (all(f * one > 1e-12 for one in differences) for f in (1, -1))
    return (sign if above else 1.0), (sign if below else 1.0)


def within(differences: Sample, tolerance: float, half: float = 0.0) -> tuple[float, float]:
    """P-values that |mean| is inside the tolerance, and that it is beyond.

    half: rounding of a printed number, held against both.
    """
    mean = differences.mean
    farthest, nearest = abs(mean) + half, max(0.0, abs(mean) - half)
    if differences.flat:
        sign = 0.5**differences.n
        return (sign if farthest < tolerance else 1.0), (sign if nearest > tolerance else 1.0)
    error, df = differences.error, differences.n - 1
    return p_equivalent(farthest, error, df, tolerance), p_beyond(nearest, error, df, tolerance)


def _judge(
    comparisons: Sequence[Elementary], evidence: tuple[Comparison, ...], context: ClaimContext
) -> _Judged:
    def untested(word: Word, reason: str) -> _Judged:
        return _Judged(evidence, untested=(word, reason))

    named = [leaf for one in comparisons for leaf in one.leaves]
    for leaf in named:
        if not context.values.get(leaf.key):
            why = context.reasons.get(leaf.key, "nothing was trained for it")
            return untested("NOT RUN", f"{leaf.cell.label}: {why.rstrip('.')}.")
    for leaf in named:
        if leaf.key in context.incomplete:
            why = f"{leaf.cell.label}: {context.incomplete[leaf.key]}"
            return untested("UNRESOLVED", f"{TOO_FEW} {why}.")
    pairs = [len(_paired_seeds(one, context.values)) for one in comparisons]
    if any(n and one.mean is None for n, one in zip(pairs, evidence, strict=True)):
        return untested("UNRESOLVED", "A divisor is zero in some trial.")
    if any(one.relation == "=" for one in comparisons):
        blocked = _cannot_equal(comparisons, evidence, context)
        if blocked is not None:
            return untested("UNRESOLVED", blocked)
    if min(pairs) < 2:
        few = f"{min(pairs)} paired trial(s); a test needs two or more."
        return untested("UNRESOLVED", few)
    p = max(one.p for one in evidence if one.p is not None)
    opposite = min(one.p_reversed for one in evidence if one.p_reversed is not None)
    return _Judged(evidence, p, min(1.0, opposite * len(evidence)))


def _cannot_equal(
    comparisons: Sequence[Elementary], evidence: Sequence[Comparison], context: ClaimContext
) -> str | None:
    if any(leaf.key in context.scaled for one in comparisons for leaf in one.leaves):
        sizes = [
            f"{one.text}: difference {one.mean:+.3g} from what is stated"
            for one in evidence
            if one.mean is not None
        ]
        return f"A stated size is not judged on scaled runs ({'; '.join(sizes)})."
    if any(one.relation == "=" and _margin(one, context) is None for one in comparisons):
        return "The table has no margin to judge a stated size against."
    if any(one.relation == "=" and one.unit != (context.unit or "") for one in comparisons):
        return "The table's margin is in another unit than the stated size."
    return None


def _p_values(
    comparison: Elementary, differences: Sample, context: ClaimContext
) -> tuple[float | None, float | None]:
    match comparison.relation:
        case ">":
            return one_sided(differences)
        case "<":
            above, below = one_sided(differences)
            return below, above
        case "~":
            assert comparison.tolerance is not None
            return within(differences, float(comparison.tolerance))
        case "=":
            scaled = any(leaf.key in context.scaled for leaf in comparison.leaves)
            margin = _margin(comparison, context)
            if scaled or margin is None or comparison.unit != (context.unit or ""):
                return None, None
            return within(differences, margin, _half(comparison))


def _margin(comparison: Elementary, context: ClaimContext) -> float | None:
    own = [leaf.cell.margin.value for leaf in comparison.leaves if leaf.cell.margin is not None]
    return min(own, default=context.margin)


def _word(judged: _Judged, p: float | None, opposite: float | None) -> tuple[Word, str]:
    if judged.untested is not None:
        return judged.untested
    assert p is not None
    assert opposite is not None
    count = len(judged.comparisons)
    weakest = max(judged.comparisons, key=lambda one: one.p or 0.0)
    if p <= LEVEL:
        all_of = "The comparison is" if count == 1 else f"All {count} comparisons are"
        return "HOLDS", f"{all_of} shown ({_p(p)} after Holm's correction over the table's claims)."
    if opposite <= LEVEL:
        worst = min(judged.comparisons, key=lambda one: one.p_reversed or 1.0)
        return "REVERSED", f"The opposite of {_named(worst)} is shown ({_p(opposite)}, corrected)."
    failed = sum((one.p or 0.0) > LEVEL for one in judged.comparisons)
    if failed == 0:
        return "UNRESOLVED", f"Shown alone, but not after Holm's correction ({_p(p)})."
    part = "" if count == 1 else f"{failed} of {count} comparisons are open; the weakest: "
    return (
        "UNRESOLVED",
        f"{part}{_named(weakest)} is not shown ({_p(weakest.p or 0.0)}), nor its opposite.",
    )


def _named(one: Comparison) -> str:
    return f"{one.text} (mean difference {one.mean:+.3g})"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _evaluate(node: Node, values: Values, seeds: Sequence[int]) -> NDArray[np.float64]:
    """The value of a node by seed, not finite where a divisor is zero. [seeds]"""
    match node:
        case Number():
            return np.full(len(seeds), float(node.value))
        case Leaf():
            return np.array([values[node.key][seed] for seed in seeds], np.float64)
        case Aggregate():
            stacked = np.stack([_evaluate(leaf, values, seeds) for leaf in node.leaves])
            if node.name == "mean":
                return np.asarray(stacked.mean(axis=0))
            return np.asarray(stacked.max(axis=0) if node.name == "max" else stacked.min(axis=0))
        case Arithmetic():
            left, right = (_evaluate(side, values, seeds) for side in (node.left, node.right))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return _SIGNS[node.sign](left, right)


_SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


def _half(comparison: Elementary) -> float:
    sides = (comparison.left, comparison.right)
    return sum(float(half_unit(side.value)) for side in sides if isinstance(side, Number))
