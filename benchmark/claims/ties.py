"""May trials show that a comparison is a tie, closer together than the paper prints it?

An answer between a claim and its opposite: "A > B" is printed with A more than the margin ahead,
and our means are shown to be less than the margin apart (two one-sided tests, Schuirmann 1987).
The margin is the one that the spec gave the table's cells for their verdicts.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from .context import ClaimContext
from .grammar import Number
from .nodes import Aggregate, Arithmetic, Elementary, Leaf, Node
from .printed import support_one


def tie_margin(
    comparison: Elementary, context: ClaimContext, *, by_trial: bool = False
) -> float | None:
    """How close together both sides must be to be tied, in their unit; None where a tie would
    answer nothing.

    It would not where the printed numbers do not support the comparison by more than the margin, or
    where nearness, a size or a least lead is stated: what is close to that is no tie. Of a largest
    or smallest cell it is not asked: which cell that is depends on the trials, and of equal means
    the largest is too far from the others. Nor is it of what is said of every trial (`by_trial`),
    which near means do not answer. The table's margin is that of its own cells of its own metric;
    others need one of their own.
    """
    if by_trial:
        return None
    margins = [_margin_of(leaf, context) for leaf in comparison.leaves]
    known = [one for one in margins if one is not None]
    if len(known) < len(margins):
        return None
    margin = min(known)
    sides = (comparison.left, comparison.right)
    asked = comparison.relation in ("<", ">") and all(map(_is_of_cells, sides))
    return margin if asked and _is_further(comparison, margin) else None


def _margin_of(leaf: Leaf, context: ClaimContext) -> float | None:
    if leaf.cell.margin is not None:
        return leaf.cell.margin.value
    lent = leaf.own and leaf.cell.metric == context.metric and leaf.cell.unit == context.unit
    return context.margin if lent else None


def _is_of_cells(node: Node) -> bool:
    """Whether a side is made of cells, their means, sums and differences alone."""
    match node:
        case Number():
            return False
        case Leaf():
            return True
        case Aggregate():
            return node.name == "mean"
        case Arithmetic():
            return node.sign in "+-" and _is_of_cells(node.left) and _is_of_cells(node.right)


def _is_further(comparison: Elementary, margin: float) -> bool:
    """Whether all values that print so support the comparison by more than the margin."""
    near = replace(comparison, relation="~", tolerance=Decimal(repr(margin)))
    return support_one(comparison) == "supported" and support_one(near) == "contradicted"
