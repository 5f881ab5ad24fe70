"""One comparison in our trials: its differences by seed, and the p-values that it holds or not.

- `>` and `<` are tests of a mean (`stats.paired`), `~ t` two of them, one at each end.
- `=` is the same against a margin, the narrowest that a named cell has of its own, with the
  rounding of the printed number held against it. What is printed is one more draw of our
  differences: the standard error is s * sqrt(1 + 1/n). It is never judged on scaled runs.
- Said of every trial: the sign test that only unanimous trials pass.
- Of counted and computed cells alone, the comparison is decided exactly.
- A look sees the first trials by seed; of several looks, each p-value is that of all together
  (`stats.looks`).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..results import Comparison
from ..spec.model import Claim
from ..spec.printed import half_unit
from ..stats.looks import sequential_p, shares
from ..stats.paired import p_above, p_sign, p_t, unanimous
from ..stats.samples import Sample, describe, mean_interval
from ..stats.t_tests import p_beyond, p_equivalent
from .by_seed import (
    SeedArrays,
    arrays,
    branches,
    evaluate,
    is_exact,
    paired_seeds,
    picked,
)
from .context import ClaimContext
from .grammar import Number
from .nodes import Arithmetic, CellKey, Elementary, Node, show

Both = tuple[float, float]
"""P-values that a comparison holds, and that its opposite does."""
_TIE = 1e-12
_EXACT = 1e-12
"""Counts that differ by less, relative to the largest number, differ by rounding alone."""


def compared(comparison: Elementary, context: ClaimContext, claim: Claim) -> Comparison:
    """A comparison with its differences by seed, left minus right, and p-values of two trials up.

    Where a divisor is zero in some trial, there are no differences either.
    """
    if all(map(is_exact, comparison.leaves)):
        return _exact(comparison, context)
    seeds = paired_seeds(comparison, context.values)
    if not seeds or any(not context.values.get(leaf.key) for leaf in comparison.leaves):
        return _shown(comparison, np.zeros(0))
    trials = _Trials(comparison, context, tuple(seeds))
    differences = trials.shown(by_trial=claim.every_trial)
    sample = describe(differences.tolist())
    if sample is None or sample.n < 2 or not is_testable(comparison, context):
        return _shown(comparison, differences)
    looks = context.looks_at(len(seeds))
    spent = shares(looks.counts, looks.declared)
    each = [trials.first(count).p_values(claim.every_trial) for count in looks.counts]
    p, p_reversed = (sequential_p(side, spent) for side in zip(*each, strict=True))
    return _shown(comparison, differences, p, p_reversed)


def is_scaled_size(comparison: Elementary, scaled: Container[CellKey]) -> bool:
    """Whether it states a size of trained cells of which some are `scaled`: none is judged."""
    if comparison.relation != "=" or all(map(is_exact, comparison.leaves)):
        return False
    return any(leaf.key in scaled for leaf in comparison.leaves)


def is_testable(comparison: Elementary, context: ClaimContext) -> bool:
    """Whether there is anything to hold a stated size against; directions always are."""
    return comparison.relation != "=" or (
        not is_scaled_size(comparison, context.scaled)
        and margin_of(comparison, context) is not None
        and comparison.unit == (context.unit or "")
    )


def margin_of(comparison: Elementary, context: ClaimContext) -> float | None:
    """How close to a stated size is close enough."""
    own = [leaf.cell.margin.value for leaf in comparison.leaves if leaf.cell.margin is not None]
    return min(own, default=context.margin)


def within(differences: Sample, tolerance: float, half: float = 0.0) -> Both:
    """P-values that a printed size is within the tolerance of the mean, and that it is beyond.

    half: rounding of what is printed, held against both.
    """
    mean, n = differences.mean, differences.n
    farthest, nearest = abs(mean) + half, max(0.0, abs(mean) - half)
    if differences.flat:
        return (0.5**n if farthest < tolerance else 1.0), (0.5**n if nearest > tolerance else 1.0)
    error = differences.sd * np.sqrt(1 + 1 / n)
    return p_equivalent(farthest, error, n - 1, tolerance), p_beyond(
        nearest, error, n - 1, tolerance
    )


@dataclass(frozen=True)
class _Trials:
    """A comparison at some seeds."""

    comparison: Elementary
    context: ClaimContext
    seeds: tuple[int, ...]

    def first(self, count: int) -> _Trials:
        """The first of them, which are all that a look at so many sees."""
        return replace(self, seeds=self.seeds[:count])

    @cached_property
    def arrays(self) -> SeedArrays:
        return arrays(self.comparison, self.context.values, self.seeds)

    @property
    def difference(self) -> Arithmetic:
        return Arithmetic("-", self.comparison.left, self.comparison.right)

    def shown(self, by_trial: bool = False) -> NDArray[np.float64]:
        """Left minus right by seed, of the cells with the best means or the best in each trial."""
        trials = self.arrays
        return evaluate(self.difference if by_trial else picked(self.difference, trials), trials)

    def p_values(self, every_trial: bool) -> Both:
        relation = self.comparison.relation
        if len(self.seeds) < 2:
            return 1.0, 1.0
        if every_trial:
            d = self.shown(by_trial=True)
            return _turned(relation, (unanimous(d), unanimous(-d)))
        if relation == "=":
            sample, margin = (
                describe(self.shown().tolist()),
                margin_of(self.comparison, self.context),
            )
            assert sample is not None
            assert margin is not None
            return within(sample, margin, _half(self.comparison))
        if relation == "~":
            tolerance = float(self.comparison.tolerance or 0)
            return self.p_inside(tolerance), self.p_outside(tolerance)
        both = (self.is_above(node) for node in (self.difference, _turned_round(self.difference)))
        return _turned(relation, (next(both), next(both)))

    def p_inside(self, tolerance: float) -> float:
        """P-value that both sides are at most the tolerance apart."""
        if len(self.seeds) < 2:
            return 1.0
        return max(self.above(side, -tolerance) for side in self.sides)

    def p_outside(self, tolerance: float) -> float:
        """P-value that both sides are further than the tolerance apart."""
        found = evaluate(self.sides[0], self.arrays)
        # The far tail counts too, as in `t_tests.p_beyond`.
        far = float(p_t(found * np.sign(found.mean()) + tolerance))
        return min(1.0, far + min(self.above(side, tolerance) for side in self.sides))

    @cached_property
    def sides(self) -> tuple[Node, Node]:
        """Left minus right of the cells with the best means, and the other way round."""
        node = picked(self.difference, self.arrays)
        return node, _turned_round(node)

    def is_above(self, node: Node) -> float:
        """P-value that the mean of `node` is above zero, whatever largest and smallest are in it.

        One row of the branches must hold in all its columns: the largest p-value of a row, and of
        the rows the smallest, times their number (Bonferroni).
        """
        rows = branches(node, self.arrays)
        return min(1.0, len(rows) * min(max(self.above(one, 0.0) for one in row) for row in rows))

    def above(self, node: Node, bound: float) -> float:
        """P-value that the mean of `node` is above `bound`."""
        return float(p_above(evaluate(node, self.arrays) - bound))


def _exact(comparison: Elementary, context: ClaimContext) -> Comparison:
    """A comparison of counts: those of our own rounds where all cells have them, else formulas."""
    keys = [leaf.key for leaf in comparison.leaves]
    values = context.values
    if not all(values.get(key) for key in keys):
        values = {key: {0: value} for key, value in context.recomputed.items()}
    if not all(values.get(key) for key in keys):
        return _shown(comparison, np.zeros(0), exact=True)
    trials = arrays(comparison, values, [0])
    found = evaluate(Arithmetic("-", comparison.left, comparison.right), trials)
    if not np.isfinite(found).all():
        return _shown(comparison, found, exact=True)
    sides = (evaluate(comparison.left, trials), evaluate(comparison.right, trials))
    slack = _EXACT * max(1.0, *(float(np.abs(one).max()) for one in (*sides, *trials.values())))
    difference = float(found[0])
    match comparison.relation:
        case ">":
            holds = difference > slack
        case "<":
            holds = difference < -slack
        case "=":
            holds = abs(difference) <= _half(comparison) + slack
        case "~":
            holds = abs(difference) <= float(comparison.tolerance or 0) + slack
    return _shown(comparison, found, 0.0 if holds else 1.0, 1.0 if holds else 0.0, exact=True)


def _shown(
    comparison: Elementary,
    differences: NDArray[np.float64],
    p: float | None = None,
    p_reversed: float | None = None,
    *,
    exact: bool = False,
) -> Comparison:
    sample = describe(differences.tolist())
    tests = sample is not None and sample.n >= 2 and p is not None and comparison.relation in "<>"
    signed = -differences if comparison.relation == "<" else differences
    return Comparison(
        text=comparison.text,
        published_left=show(comparison.left),
        published_right=show(comparison.right),
        differences=() if sample is None else tuple(differences.tolist()),
        mean=None if sample is None else sample.mean,
        interval=mean_interval(sample),
        p=p,
        p_reversed=p_reversed,
        relation=comparison.relation,
        superiority=_superiority(comparison, signed) if sample is not None else None,
        p_t=float(p_t(signed)) if tests else None,
        p_sign=p_sign(signed) if tests else None,
        exact=exact,
    )


def _superiority(comparison: Elementary, signed: NDArray[np.float64]) -> float | None:
    """The share of trials that go the stated way, a tie counting half; a stated size has none."""
    match comparison.relation:
        case "=":
            return None
        case "~":
            return float((np.abs(signed) <= float(comparison.tolerance or 0)).mean())
        case _:
            return float((signed > _TIE).mean() + (np.abs(signed) <= _TIE).mean() / 2)


def _turned_round(node: Node) -> Arithmetic:
    """A difference the other way round."""
    assert isinstance(node, Arithmetic)
    return Arithmetic("-", node.right, node.left)


def _turned(relation: str, both: Both) -> Both:
    return (both[1], both[0]) if relation == "<" else both


def _half(comparison: Elementary) -> float:
    sides = (comparison.left, comparison.right)
    return sum(float(half_unit(side.value)) for side in sides if isinstance(side, Number))
