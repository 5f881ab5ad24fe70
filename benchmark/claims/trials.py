"""Do our own trials show a claim? Its comparisons together, and the claims of a paper together.

- Trials are paired by seed: a comparison uses the seeds that all of its cells have.
- A claim is a conjunction. It HOLDS if each comparison is shown at the level (an intersection-union
  test: the largest p-value counts, without correction inside the claim). It is PARTLY so, or
  REVERSED, if of some or all comparisons the opposite is shown (Holm inside the claim).
- Claims are corrected over all claims of the paper that were tested in this run, once for what
  holds, once for what holds in part and once for what is opposite (Benjamini and Hochberg 1995): of
  the claims that a report calls shown, 5 % may be wrong on average.
- Counts and computed numbers are decided exactly, and weigh on no other claim.
- A claim on a cell that lacks a trial is UNRESOLVED: which trials fail may hang on what they would
  have given, so those that are left show nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..results import ClaimResult, ClaimWord, Comparison
from ..spec.model import Claim
from ..stats.false_discovery import benjamini_hochberg
from ..stats.looks import Looks
from .by_seed import is_exact, paired_seeds
from .compare import compared, is_scaled_size, is_testable, margin_of
from .context import ClaimContext
from .more_trials import trials_needed
from .nodes import Elementary
from .printed import support
from .words import TOO_FEW, Corrected, word_of

Claims = Sequence[tuple[Claim, Sequence[Elementary]]]
"""The claims of one table with their comparisons."""


@dataclass(frozen=True)
class _Tested:
    """A claim with its comparisons, or word and reason where nothing was tested."""

    claim: Claim
    elementary: Sequence[Elementary]
    context: ClaimContext
    comparisons: tuple[Comparison, ...]
    untested: tuple[ClaimWord, str] | None

    @property
    def is_exact(self) -> bool:
        return all(one.exact for one in self.comparisons)

    @property
    def p(self) -> float | None:
        """That all comparisons hold; None where nothing was tested."""
        if self.untested is not None:
            return None
        return max(one.p for one in self.comparisons if one.p is not None)

    @property
    def p_some(self) -> float | None:
        """That one comparison or more is shown (Bonferroni)."""
        return self._least([one.p for one in self.tests])

    @property
    def p_reversed(self) -> float | None:
        """That one comparison or more is opposite (Bonferroni)."""
        return self._least([one.p_reversed for one in self.tests])

    @property
    def tests(self) -> Sequence[Comparison]:
        """The comparisons that are uncertain, if any are: a count is no discovery."""
        return [one for one in self.comparisons if not one.exact] or self.comparisons

    def _least(self, p_values: Sequence[float | None]) -> float | None:
        if self.untested is not None:
            return None
        return min(1.0, min(p for p in p_values if p is not None) * len(p_values))

    @property
    def looks(self) -> Looks | None:
        """The looks that all of its comparisons have reached."""
        if self.untested is not None or self.is_exact:
            return None
        pairs = zip(self.elementary, self.comparisons, strict=True)
        values = self.context.values
        n = min(len(paired_seeds(one, values)) for one, shown in pairs if not shown.exact)
        return self.context.looks_at(n)


def judge_claims(claims: Claims, context: ClaimContext) -> tuple[ClaimResult, ...]:
    """The claims of one table, as if its paper had no other."""
    return judge_together([(claims, context)])[0]


def judge_together(
    tables: Sequence[tuple[Claims, ClaimContext]],
) -> list[tuple[ClaimResult, ...]]:
    """The claims of a paper by table, with words corrected over all of them that were tested."""
    tested = [
        [_tested(claim, comparisons, context) for claim, comparisons in claims]
        for claims, context in tables
    ]
    every = [one for table in tested for one in table]
    p_values = zip(
        _corrected([None if one.is_exact else one.p for one in every]),
        _corrected([None if one.is_exact else one.p_some for one in every]),
        _corrected([None if one.is_exact else one.p_reversed for one in every]),
        strict=True,
    )
    corrected = [_with_p(one, *each) for one, each in zip(every, p_values, strict=True)]
    results = (_result(one, each) for one, each in zip(every, corrected, strict=True))
    return [tuple(next(results) for _ in table) for table in tested]


def _with_p(
    one: _Tested, p: float | None, p_some: float | None, p_reversed: float | None
) -> Corrected:
    """The comparisons with the claim's own p-values and these corrected ones."""
    return Corrected(
        one.comparisons,
        *(one.p or 0.0, p),
        *(one.p_some or 0.0, p_some),
        *(one.p_reversed or 0.0, p_reversed),
        scaled=any(
            leaf.key in one.context.scaled for each in one.elementary for leaf in each.leaves
        ),
    )


def _corrected(p_values: Sequence[float | None]) -> Iterator[float | None]:
    """Corrected p-values in the order given; None stays, and weighs on no other."""
    corrected = iter(benjamini_hochberg([p for p in p_values if p is not None]))
    return (None if p is None else next(corrected) for p in p_values)


def _result(one: _Tested, corrected: Corrected) -> ClaimResult:
    supported, why = support(one.elementary)
    word, reason = one.untested or word_of(corrected)
    looks = one.looks
    needed = None
    if word == "UNRESOLVED" and looks is not None:
        needed = trials_needed(one.elementary, one.comparisons, looks)
    return ClaimResult(
        id=one.claim.id,
        says=one.claim.says,
        holds=one.claim.holds,
        support=supported,
        support_reason=why,
        word=word,
        reason=reason,
        p_adjusted=corrected.p_adjusted,
        comparisons=one.comparisons,
        p=None if one.is_exact else one.p,
        p_reversed=None if one.is_exact else one.p_reversed,
        shown=0 if one.untested else corrected.shown,
        opposite=0 if one.untested else corrected.opposite,
        looks=() if looks is None else looks.counts,
        declared=None if looks is None else looks.declared,
        trials_needed=needed,
    )


def _tested(claim: Claim, comparisons: Sequence[Elementary], context: ClaimContext) -> _Tested:
    evidence = tuple(compared(one, context, claim) for one in comparisons)
    untested = _untested(comparisons, evidence, context)
    return _Tested(claim, comparisons, context, evidence, untested)


def _untested(
    comparisons: Sequence[Elementary], evidence: Sequence[Comparison], context: ClaimContext
) -> tuple[ClaimWord, str] | None:
    """Word and reason of a claim that no test can decide, or not from these trials."""
    for one, shown in zip(comparisons, evidence, strict=True):
        for leaf in one.leaves:
            if shown.exact:
                if not _is_counted(one, context) and leaf.key not in context.recomputed:
                    why = "no formula gives its number, and not all cells beside it are counted"
                    return "NOT RUN", f"{leaf.cell.label}: {why}."
            elif not context.values.get(leaf.key):
                why = context.reasons.get(leaf.key, "nothing was trained for it")
                return "NOT RUN", f"{leaf.cell.label}: {why.rstrip('.')}."
    for one in comparisons:
        for leaf in one.leaves:
            if leaf.key in context.incomplete:
                why = f"{leaf.cell.label}: {context.incomplete[leaf.key]}"
                return "UNRESOLVED", f"{TOO_FEW} {why}."
    pairs = [len(paired_seeds(one, context.values)) for one in comparisons]
    if any(n and one.mean is None for n, one in zip(pairs, evidence, strict=True)):
        return "NOT JUDGED", "A divisor is zero in some trial."
    blocked = _cannot_equal(comparisons, evidence, context)
    if blocked is not None:
        return "NOT JUDGED", blocked
    few = [n for n, one in zip(pairs, evidence, strict=True) if not one.exact and n < 2]
    if few:
        return "UNRESOLVED", f"{min(few)} paired trial(s); a test needs two or more."
    return None


def _is_counted(comparison: Elementary, context: ClaimContext) -> bool:
    return all(context.values.get(leaf.key) for leaf in comparison.leaves)


def _cannot_equal(
    comparisons: Sequence[Elementary], evidence: Sequence[Comparison], context: ClaimContext
) -> str | None:
    """Why a stated size has nothing to be held against, or None."""
    trained = [one for one in comparisons if not all(map(is_exact, one.leaves))]
    if all(is_testable(one, context) for one in trained):
        return None
    if any(is_scaled_size(one, context.scaled) for one in trained):
        sizes = [
            f"{one.text}: difference {one.mean:+.3g} from what is stated"
            for one in evidence
            if one.mean is not None
        ]
        return f"A stated size is not judged on scaled runs ({'; '.join(sizes)})."
    if any(margin_of(one, context) is None for one in trained if one.relation == "="):
        return "The table has no margin to judge a stated size against."
    return "The table's margin is in another unit than the stated size."
