"""Comparisons that no run could break, and that therefore say nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from ..metrics import metric
from .nodes import Arithmetic, Elementary, Leaf, Node, leaves
from .printed import Box, exact, range_over

_ENDLESS = Decimal(10**12)
"""Stands for the end of a metric that has none."""


def why_unbreakable(comparison: Elementary) -> str | None:
    """Why a comparison is true (or false) whatever its cells hold; None where it can be either.

    The range of the difference of both sides is taken over all values that the cells' metrics can
    have. Interval arithmetic may make it too wide, so a comparison that is named here is certain.
    """
    left, right = ({leaf.key for leaf in leaves(side)} for side in _sides(comparison))
    if left and left == right:
        return "both sides name the same cells"
    box = {leaf.key: _possible(leaf) for leaf in comparison.leaves}
    low, high = _differences(comparison, box)
    tolerance = comparison.tolerance or 0
    always = {
        ">": low > 0,
        "<": high < 0,
        "=": low == high,
        "~": max(-low, high) <= tolerance,
    }[comparison.relation]
    return _reason(comparison, box) if always else None


def why_never_above(comparison: Elementary, least: float) -> str | None:
    """Why the difference that a comparison states never exceeds `least`; None where it may."""
    low, high = _differences(comparison, {leaf.key: _possible(leaf) for leaf in comparison.leaves})
    most = high if comparison.relation == ">" else -low
    return None if most > least else f"no difference can exceed {least:g}; at most {float(most):g}"


def _differences(comparison: Elementary, box: Box) -> tuple[Fraction, Fraction]:
    """The range of left less right over all values that cells can have."""
    try:
        return range_over(Arithmetic("-", *map(exact, _sides(comparison))), box)
    except ZeroDivisionError:
        return -Fraction(_ENDLESS), Fraction(_ENDLESS)


def _sides(comparison: Elementary) -> tuple[Node, Node]:
    return comparison.left, comparison.right


def _possible(leaf: Leaf) -> tuple[Decimal, Decimal]:
    """The least and the largest value that a cell can have, in its unit."""
    known = metric(leaf.cell.metric)
    low, high = (-_ENDLESS, _ENDLESS) if known is None else known.bounds(leaf.cell.unit)
    return max(-_ENDLESS, Decimal(low)), min(_ENDLESS, Decimal(high))


def _reason(comparison: Elementary, box: Box) -> str:
    ends = {f"{low:f} to {high:f}" for low, high in box.values() if high < _ENDLESS}
    known = f" (from {', '.join(sorted(ends))})" if ends else ""
    return f"no value that the metric can have{known} breaks it"
