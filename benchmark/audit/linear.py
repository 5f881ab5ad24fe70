"""A side of a comparison as a weighted sum of cells, where it is one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ..claims.grammar import Number
from ..claims.nodes import Aggregate, Arithmetic, CellKey, Leaf, Node

Form = Mapping[CellKey | None, Fraction]
"""The weight of each cell, and under None the constant that is added; no weight is zero."""


def form_of(node: Node) -> Form | None:
    """A node as a linear form; None where it is none. Counts are constants.

    Sums, differences, means, and products or quotients with one constant factor are linear.
    """
    match node:
        case Number():
            return {None: Fraction(node.value)}
        case Leaf():
            low, high = node.cell.bounds
            return {None: Fraction(low)} if low == high else {node.key: Fraction(1)}
        case Aggregate():
            total: Form = {}
            for leaf in node.leaves:
                total = added(total, form_of(leaf) or {})
            whole = node.name == "mean" or len(node.leaves) == 1
            return times(total, Fraction(1, len(node.leaves))) if whole else None
        case Arithmetic():
            left, right = form_of(node.left), form_of(node.right)
            return None if left is None or right is None else _combine(node.sign, left, right)


def added(one: Form, other: Form, sign: int = 1) -> Form:
    """The sum of two forms, or with sign -1 their difference."""
    total = dict(one)
    for key, weight in other.items():
        total[key] = total.get(key, Fraction(0)) + sign * weight
    return {key: weight for key, weight in total.items() if weight}


def times(form: Form, factor: Fraction) -> Form:
    """The form, all of it multiplied by a number."""
    return {key: weight * factor for key, weight in form.items() if factor}


def _combine(sign: str, left: Form, right: Form) -> Form | None:
    if sign in "+-":
        return added(left, right, 1 if sign == "+" else -1)
    if sign == "*" and right.keys() - {None}:
        left, right = right, left
    if right.keys() - {None}:
        return None
    factor = right.get(None, Fraction(0))
    if sign == "*":
        return times(left, factor)
    return times(left, 1 / factor) if factor else None
