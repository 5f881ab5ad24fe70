"""May trials show that a comparison is a tie, closer together than the paper prints it?

An answer between a claim and its opposite: "A > B" was printed with A more than the margin ahead,
and our means are shown to be less than the margin apart (two one-sided tests, Schuirmann 1987).
The margin is the one that the spec gave the table's cells for their verdicts.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from fedrepro.benchmark.claims.grammar import Number
from fedrepro.benchmark.claims.nodes import Aggregate, Arithmetic, Elementary, Leaf, Node
from fedrepro.benchmark.claims.printed import support_one


def within(comparison: Elementary, margin: float) -> Elementary:
    """That both sides lie at most the margin apart, in the comparison's unit."""
    return replace(comparison, relation="~", tolerance=Decimal(repr(margin)))


def may_tie(comparison: Elementary, margin: float) -> bool:
    """Whether a tie within the margin would answer a comparison.

    It would not where the printed numbers may lie as close themselves or say nothing, or where
    nearness, a size or a least lead is stated: what is close to that is no tie. Of a largest or
    smallest cell it is not asked: which cell that is depends on the trials, and of equal means the
    largest is too far from the others.
    """
    return (
        comparison.relation in ("<", ">")
        and all(map(_is_of_cells, (comparison.left, comparison.right)))
        and support_one(within(comparison, margin)) == "contradicted"
    )


def _is_of_cells(node: Node) -> bool:
    """Whether a side is made of cells and their means alone."""
    match node:
        case Number():
            return False
        case Leaf():
            return True
        case Aggregate():
            return node.name == "mean"
        case Arithmetic():
            return _is_of_cells(node.left) and _is_of_cells(node.right)
