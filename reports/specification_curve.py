"""Specification curves: what each claim comes to under each set of interpretations."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from ..benchmark.claims.answer import ClaimAnswer, ClaimResult
from ..benchmark.results import Report, TableResult
from . import evidence, layout

HEIGHT = 56
_STEP = 26
_EDGE = 6


class ClaimCurve(NamedTuple):
    """One claim; `under`: what it comes to, in the order of the report's universes."""

    table: TableResult
    claim: ClaimResult
    under: tuple[ClaimAnswer, ...]

    @property
    def words(self) -> dict[str, str]:
        """By word, the numbers of the universes in which it is said: 'HOLDS' → '1–3, 6'."""
        words = dict.fromkeys(one.word for one in self.under)
        return {
            word: layout.ranges(i for i, one in enumerate(self.under) if one.word == word)
            for word in words
        }

    @property
    def was_judged(self) -> bool:
        return any(one.ours is not None for one in self.under)

    @property
    def is_stable(self) -> bool:
        """Whether it comes to the same word under all interpretations."""
        return len(self.words) == 1


def curves(report: Report) -> list[ClaimCurve]:
    """The claims that universes judged; those that depend on an interpretation come first."""
    found = []
    for table, claim in layout.all_claims(report):
        place = f"{table.id}: {claim.id}"
        under = tuple(one.claims[place] for one in report.universes if place in one.claims)
        if under:
            found.append(ClaimCurve(table, claim, under))
    return sorted(found, key=lambda one: (one.is_stable, not one.was_judged))


def changed(curves: Sequence[ClaimCurve]) -> str:
    """'2 of 6 claims that were judged change their status'."""
    judged = [one for one in curves if one.was_judged]
    n = sum(not one.is_stable for one in judged)
    return f"{n} of {len(judged)} claims that were judged change their status"


def names(report: Report) -> list[str]:
    """The interpretations of each universe: 'as taken', 'fresh-targets', 'a + b'."""
    return [" + ".join(one.readings) or "as taken" for one in report.universes]


def said(under: ClaimAnswer) -> str:
    """'HOLDS: +2.5 [1.0, 4.0]'."""
    if under.ours is None:
        return under.word
    return f"{under.word}: {evidence.span(under.ours, sign=True)}"


def draw(under: Sequence[ClaimAnswer]) -> Markup:
    """One claim by universe: differences and intervals on the line of no difference."""
    known = (one.ours for one in under if one.ours is not None)
    ends = [end for one in known for end in (one.mean, one.low, one.high) if end is not None]
    low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    width = _EDGE * 2 + _STEP * len(under)

    def y(value: float) -> str:
        share = (value - low) / ((high - low) or 1.0)
        return f"{HEIGHT - _EDGE - share * (HEIGHT - 2 * _EDGE):.1f}"

    shapes = [f'<path class="zero" d="M0 {y(0.0)}H{width}"/>']
    for i, one in enumerate(under):
        if one.ours is None:
            continue
        x = _EDGE + _STEP * i + _STEP // 2
        if one.ours.low is not None and one.ours.high is not None:
            ends_y = y(one.ours.low), y(one.ours.high)
            shapes.append(f'<path class="bar" d="M{x} {ends_y[0]}V{ends_y[1]}"/>')
        word = one.word.lower().replace(" ", "-")
        shapes.append(f'<path class="dot {word}" d="M{x} {y(one.ours.mean)}h0"/>')
    drawn = "".join(shapes)
    return Markup(
        f'<svg class="curve" width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}" '
        f'aria-hidden="true">{drawn}</svg>'
    )
