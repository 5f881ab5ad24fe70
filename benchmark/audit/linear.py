"""Comparisons as linear inequalities over printed quantities.

Sums, differences, means, and products or quotients with one known factor are linear; so is a
quotient that is held against a number, once both sides are multiplied by a divisor whose sign is
known. What is not linear is left out by the caller, which errs towards `consistent`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ..claims.grammar import Number
from ..claims.nodes import Aggregate, Arithmetic, Elementary, Leaf, Node
from ..spec.model import Cell
from ..spec.printed import Rule, closed_ends, half_unit

Quantity = Hashable
Name = Callable[[Cell], Quantity]
"""Which quantity a cell prints; cells that print one quantity have one name."""


@dataclass(frozen=True)
class Form:
    """A constant, and what is added to it for each quantity."""

    constant: Fraction
    weights: Mapping[Quantity, Fraction]

    def __add__(self, other: Form) -> Form:
        weights = dict(self.weights)
        for key, weight in other.weights.items():
            weights[key] = weights.get(key, Fraction(0)) + weight
        kept = {key: weight for key, weight in weights.items() if weight}
        return Form(self.constant + other.constant, kept)

    def times(self, factor: Fraction) -> Form:
        """The form, all of it multiplied by a number."""
        if not factor:
            return Form(Fraction(0), {})
        weights = {key: weight * factor for key, weight in self.weights.items()}
        return Form(self.constant * factor, weights)


@dataclass(frozen=True)
class Inequality:
    """The form is at most zero, or below it where `strict`."""

    form: Form
    strict: bool


def form_of(node: Node, name: Name) -> Form | None:
    """A node as a linear form; None where it is none. Counts are constants."""
    match node:
        case Number():
            return Form(Fraction(node.value), {})
        case Leaf():
            return _leaf(node, name)
        case Aggregate():
            total = Form(Fraction(0), {})
            for leaf in node.leaves:
                total += _leaf(leaf, name)
            whole = node.name == "mean" or len(node.leaves) == 1
            return total.times(Fraction(1, len(node.leaves))) if whole else None
        case Arithmetic():
            left, right = form_of(node.left, name), form_of(node.right, name)
            return None if left is None or right is None else _combine(node.sign, left, right)


def inequalities(one: Elementary, name: Name, rule: Rule) -> list[Inequality] | None:
    """A comparison as inequalities under a rule of rounding; None where it is not linear.

    A number that stands alone beside '=' is rounded by the same rule as the cells.
    """
    left, right = one.left, one.right
    if isinstance(left, Number):
        left, right = right, left
    if one.relation == "=" and isinstance(right, Number):
        return _stated(left, right, name, rule)
    forms = form_of(one.left, name), form_of(one.right, name)
    if forms[0] is None or forms[1] is None or one.relation == "~":
        return None
    difference = forms[0] + forms[1].times(Fraction(-1))
    below, above = difference, difference.times(Fraction(-1))
    match one.relation:
        case "<":
            return [Inequality(below, True)]
        case ">":
            return [Inequality(above, True)]
        case _:
            return [Inequality(below, False), Inequality(above, False)]


def box_of(cell: Cell, quantity: Quantity, rule: Rule) -> Iterator[Inequality]:
    """What the print of a cell says of its quantity: it rounds to it."""
    (low, high), (low_closed, high_closed) = cell.bounds, cell.closed_ends(rule)
    for end, closed, sign in ((low, low_closed, -1), (high, high_closed, 1)):
        form = Form(-sign * Fraction(end), {quantity: Fraction(sign)})
        yield Inequality(form, not closed)


def _stated(left: Node, right: Number, name: Name, rule: Rule) -> list[Inequality] | None:
    half = Fraction(half_unit(right.value)) if right.as_printed else Fraction(0)
    closed = closed_ends(right.value, rule) if half else (True, True)
    divisor: Form | None = Form(Fraction(1), {})
    if isinstance(left, Arithmetic) and left.sign == "/" and _is_positive(left.right):
        divisor = form_of(left.right, name)
        left = left.left
    value = form_of(left, name)
    if value is None or divisor is None:
        return None
    low, high = Fraction(right.value) - half, Fraction(right.value) + half
    return [
        Inequality(divisor.times(low) + value.times(Fraction(-1)), not closed[0]),
        Inequality(value + divisor.times(-high), not closed[1]),
    ]


def _is_positive(node: Node) -> bool:
    """Whether a divisor is a cell, or a number, that is above zero however it is rounded."""
    match node:
        case Number():
            return node.value > 0
        case Leaf():
            return node.cell.bounds[0] > 0
        case _:
            return False


def _leaf(leaf: Leaf, name: Name) -> Form:
    low, high = leaf.cell.bounds
    if low == high:
        return Form(Fraction(low), {})
    return Form(Fraction(0), {name(leaf.cell): Fraction(1)})


def _combine(sign: str, left: Form, right: Form) -> Form | None:
    if sign in "+-":
        return left + right.times(Fraction(1 if sign == "+" else -1))
    if sign == "/":
        if right.weights or not right.constant:
            return None
        return left.times(1 / right.constant)
    if left.weights and right.weights:
        return None
    return left.times(right.constant) if not right.weights else right.times(left.constant)
