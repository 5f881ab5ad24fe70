"""What a claim stands on, in one line: its difference, its tests, and what would decide it."""

from __future__ import annotations

from textwrap import shorten

from ..benchmark.results import ClaimResult, Comparison
from . import layout

_LONG = 120
"""Letters of a comparison that a line shows."""
_OPPOSITE = ("REVERSED", "OPPOSITE HERE", "PARTLY")
_ORDERS = ("<", ">", "<=", ">=")


def line(claim: ClaimResult) -> str:
    """'CFL > FL: +2.50 [1.00, 4.00] · 3 of 3 shown · P(A > B) = 0.90 · p = 0.004'."""
    return " · ".join(facts(claim))


def facts(claim: ClaimResult) -> list[str]:
    """The parts of the line; none of a claim that was not compared.

    The difference (left minus right) is that of the comparison which the word hangs on
    (`ClaimResult.decisive`).
    """
    one = claim.decisive
    if one is None or claim.word == "NOT RUN":
        return []
    difference = f"{_compared(one)}: {layout.number(one.mean, sign=True)}"
    if one.interval is not None:
        difference += f" {layout.span(one.interval, sign=True)}"
    return [
        difference,
        *_counted(claim),
        *_shares(one),
        *_tested(claim, one),
        *_looked(claim),
        *_needed(claim),
    ]


def share_shown(claim: ClaimResult) -> str:
    """The share of its comparisons that is shown, to sort by; nothing where none was tested."""
    return f"{claim.shown / len(claim.comparisons):.3f}" if claim.p is not None else ""


def p_shown(claim: ClaimResult) -> str:
    """The corrected p-value, or else that of the claim alone, to sort by."""
    p = claim.p if claim.p_adjusted is None else claim.p_adjusted
    return "" if p is None else f"{p:.2g}"


def _compared(one: Comparison) -> str:
    """The comparison, no longer than a line; what it is held against is the last to go."""
    left, sign, right = one.text.rpartition(f" {one.relation} ")
    if len(one.text) <= _LONG or not sign:
        return shorten(one.text, _LONG, placeholder=" …")
    right = shorten(right, max(_LONG // 2, _LONG - len(left)), placeholder=" …")
    left = shorten(left, _LONG - len(right), placeholder=" …")
    return f"{left}{sign}{right}"


def _counted(claim: ClaimResult) -> list[str]:
    """How many of several comparisons are shown; a claim that was never tested has no count."""
    tested = claim.p is not None or claim.shown or claim.opposite
    if len(claim.comparisons) == 1 or not tested:
        return []
    opposite = f", {claim.opposite} opposite" if claim.opposite else ""
    return [f"{claim.shown} of {len(claim.comparisons)} shown{opposite}"]


def _shares(one: Comparison) -> list[str]:
    if one.exact or one.superiority is None or one.relation not in _ORDERS:
        return []
    return [f"P(A {one.relation} B) = {layout.number(one.superiority)}"]


def _tested(claim: ClaimResult, one: Comparison) -> list[str]:
    if one.exact:
        return ["counted, not tested"]
    if claim.p is None and claim.p_adjusted is None:
        return []
    if claim.word in _OPPOSITE:
        return (
            [f"p {layout.p_equals(claim.p_reversed)} of the opposite"] if claim.p_reversed else []
        )
    corrected = layout.p_value(claim.p_adjusted)
    if claim.p is None:
        return [f"corrected p {layout.p_equals(claim.p_adjusted)}"]
    return [
        f"p {layout.p_equals(claim.p)}" + ("" if corrected == "—" else f", corrected {corrected}")
    ]


def _looked(claim: ClaimResult) -> list[str]:
    """At how many trials it was judged, where that was more than once or not yet at all of them."""
    whole = claim.declared is None or claim.looks == (claim.declared,)
    if not claim.looks or whole:
        return []
    looks = ", ".join(map(str, claim.looks))
    return [f"judged at {looks} of {claim.declared} declared trials"]


def _needed(claim: ClaimResult) -> list[str]:
    if claim.word != "UNRESOLVED" or claim.trials_needed is None:
        return []
    return [f"about {claim.trials_needed} trials would decide"]
