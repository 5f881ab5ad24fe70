"""What a claim comes to in a word and a sentence, given its p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..results import ClaimWord, Comparison
from ..stats.t_tests import LEVEL, holm, p_text

TOO_FEW = "Fewer trials than planned decide nothing."
_MOST_NAMED = 3


@dataclass(frozen=True)
class Corrected:
    """A claim's comparisons, with its p-values before and after the correction over claims.

    Attributes:
        p, p_some, p_reversed: that all comparisons hold, that one or more does, and that one or
            more is opposite; then corrected, None where all comparisons are exact.
        scaled: whether the runs depart from the published protocol.
    """

    comparisons: Sequence[Comparison]
    p: float
    p_adjusted: float | None
    p_some: float
    p_some_adjusted: float | None
    p_reversed: float
    p_reversed_adjusted: float | None
    scaled: bool = False

    @property
    def holds(self) -> bool:
        return (self.p if self.p_adjusted is None else self.p_adjusted) <= LEVEL

    @property
    def shown(self) -> int:
        """How many comparisons are shown: all where the claim holds, else by Holm inside it."""
        if self.holds:
            return len(self.comparisons)
        p = [one.p or 0.0 for one in self.comparisons]
        return len(self._selected(p, self.p_some, self.p_some_adjusted))

    @property
    def opposite(self) -> int:
        """Of how many comparisons the opposite is shown (Holm inside the claim)."""
        return len(self.opposites)

    @property
    def opposites(self) -> list[Comparison]:
        p = [one.p_reversed or 0.0 for one in self.comparisons]
        return self._selected(p, self.p_reversed, self.p_reversed_adjusted)

    def _selected(self, p: Sequence[float], own: float, adjusted: float | None) -> list[Comparison]:
        """Those whose p-values pass, corrected inside the claim by Holm, and by what the other
        claims cost.

        So claims are selected first, and those inside a selected one face a level that is as much
        smaller (Benjamini and Bogomolov 2014).
        """
        factor = 1.0 if adjusted is None or own <= 0 else adjusted / own
        pairs = zip(self.comparisons, holm(p), strict=True)
        return [one for one, corrected in pairs if corrected * factor <= LEVEL]


def word_of(claim: Corrected) -> tuple[ClaimWord, str]:
    """The word of a claim that was tested or decided exactly, and why."""
    count, against = len(claim.comparisons), claim.opposites
    exact = all(one.exact for one in claim.comparisons)
    if claim.holds and against:
        named = _named(against[0])
        return "UNRESOLVED", f"One look shows the claim, and another the opposite of {named}."
    if claim.holds:
        all_of = "The comparison is" if count == 1 else f"All {count} comparisons are"
        how = "true of counted or computed numbers" if exact else f"shown ({_after(claim)})"
        return "HOLDS", f"{all_of} {how}."
    many = "" if count == 1 else f"{claim.shown} of {count} shown, {len(against)} opposite: "
    if against:
        named = "; ".join(map(_named, against[:_MOST_NAMED]))
        more = f"; and {len(against) - _MOST_NAMED} more" if len(against) > _MOST_NAMED else ""
        p = claim.p_reversed_adjusted
        exact = p is None or all(one.exact for one in against)
        how = "by counted or computed numbers" if exact else f"{p_text(p or 0.0)}, corrected"
        reason = f"{many}the opposite is shown of {named}{more} ({how})."
        if len(against) < count:
            return "PARTLY", _capital(reason)
        return ("OPPOSITE HERE" if claim.scaled else "REVERSED"), _capital(reason)
    if claim.p <= LEVEL:
        return "UNRESOLVED", f"Shown alone ({p_text(claim.p)}), but not {_after(claim)}."
    weakest = max(claim.comparisons, key=lambda one: one.p or 0.0)
    many = "" if count == 1 else f"{claim.shown} of {count} shown, 0 opposite; the weakest: "
    return (
        "UNRESOLVED",
        f"{many}{_named(weakest)} is not shown ({p_text(weakest.p or 0.0)}), nor its opposite.",
    )


def _after(claim: Corrected) -> str:
    """The corrected p-value, and over what it is corrected."""
    return f"{p_text(claim.p_adjusted or 0.0)} corrected over the tested claims of this report"


def _named(one: Comparison) -> str:
    return f"{one.text} (mean difference {one.mean:+.3g})"


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
