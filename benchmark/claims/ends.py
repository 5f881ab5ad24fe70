"""Whether an expression reaches the end of its range, if one rule rounded all of its numbers.

Two intervals that only touch have one value in common, and that value is midway between prints:
84.55 prints as 84.5 or as 84.6 by one rule, never as both. So ends are open or closed by the rule
(half up, half to even), and what only touches can be equal if one rule closes both sides.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from ..spec.printed import RULES, Rule, closed_ends, half_unit
from .grammar import Number
from .nodes import Aggregate, Arithmetic, Leaf, Node, leaves

End = tuple[Fraction, bool]
"""An end of a range, and whether it is reached."""
Range = tuple[End, End]


def reaches_zero(node: Node) -> bool:
    """Whether an expression whose range ends at zero is zero for numbers that print so.

    An expression that names a cell twice is taken to reach it.

    Raises `ZeroDivisionError` if a divisor may be zero.
    """
    if any(times > 1 for times in Counter(leaf.key for leaf in leaves(node)).values()):
        return True
    return any((Fraction(0), True) in _range(node, rule) for rule in RULES)


def _range(node: Node, rule: Rule) -> Range:
    match node:
        case Number():
            value = Fraction(node.value)
            if not node.as_printed:
                return (value, True), (value, True)
            half, (low, high) = Fraction(half_unit(node.value)), closed_ends(node.value, rule)
            return (value - half, low), (value + half, high)
        case Leaf():
            bounds, (low, high) = node.cell.bounds, node.cell.closed_ends(rule)
            return (Fraction(bounds[0]), low), (Fraction(bounds[1]), high)
        case Aggregate():
            return _aggregate(node, [_range(leaf, rule) for leaf in node.leaves])
        case Arithmetic():
            return _combine(node.sign, _range(node.left, rule), _range(node.right, rule))


def _aggregate(node: Aggregate, ranges: list[Range]) -> Range:
    lows, highs = [low for low, _ in ranges], [high for _, high in ranges]
    if node.name == "mean":
        return _mean(lows), _mean(highs)
    if node.name == "max":
        return _last(lows), max(highs)
    # Of equal ends `min` would take an open one first.
    return _first(lows), _below(highs)


def _mean(ends: list[End]) -> End:
    return sum((value for value, _ in ends), Fraction(0)) / len(ends), all(c for _, c in ends)


def _last(lows: list[End]) -> End:
    """The lower end of a maximum: all that begin there must reach it."""
    most = max(value for value, _ in lows)
    return most, all(closed for value, closed in lows if value == most)


def _below(highs: list[End]) -> End:
    """The upper end of a minimum: all that end there must reach it."""
    least = min(value for value, _ in highs)
    return least, all(closed for value, closed in highs if value == least)


def _first(ends: list[End]) -> End:
    """The least end, reached if any of the least is."""
    least = min(value for value, _ in ends)
    return least, any(closed for value, closed in ends if value == least)


def _combine(sign: str, left: Range, right: Range) -> Range:
    if sign == "-":
        (low, low_closed), (high, high_closed) = right
        right = (-high, high_closed), (-low, low_closed)
    if sign in "+-":
        (a, a_closed), (b, b_closed) = (
            (x[0] + y[0], x[1] and y[1]) for x, y in zip(left, right, strict=True)
        )
        return (a, a_closed), (b, b_closed)
    if sign == "/":
        (low, low_closed), (high, high_closed) = right
        if low <= 0 <= high:
            raise ZeroDivisionError
        right = (1 / high, high_closed), (1 / low, low_closed)
    products = [
        (x * y, (x_closed and y_closed) or (x == 0 and x_closed) or (y == 0 and y_closed))
        for x, x_closed in left
        for y, y_closed in right
    ]
    return _first(products), max(products)
