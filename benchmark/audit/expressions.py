"""Claims and relations as findings show them, and their sides as weighted sums of cells."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from ..claims.grammar import Aggregate, Arithmetic, Number
from ..claims.nodes import Elementary, Node, leaves, show
from ..claims.printed import Interval, range_over, reaches_zero
from ..spec.model import Cell, CellKey
from .rounding import digits

MOST_SHOWN = 4
"""More comparisons than this are counted instead of written out."""
Form = Mapping[CellKey | None, Fraction]
"""The weight of each cell, and under None the constant that is added; no weight is zero."""
FACTOR = Fraction(3, 2)
"""Sides that differ by more than this factor are shown with their ratio."""


def cells_of(comparisons: Sequence[Elementary]) -> Iterator[Cell]:
    """The cells of comparisons in order, each once."""
    found = {leaf.key: leaf for one in comparisons for leaf in one.leaves}
    yield from found.values()


def approximate(comparison: Elementary) -> bool:
    """Whether a cell of it is printed as approximate, so that its rounding is not known."""
    return any(leaf.printed.approximate for leaf in comparison.leaves)


def published_of(comparisons: Sequence[Elementary]) -> str:
    """The comparisons with printed numbers in the place of cells."""
    written = dict.fromkeys(one.printed for one in comparisons)
    text = "; ".join(list(written)[:MOST_SHOWN])
    more = len(written) - MOST_SHOWN
    return text if more <= 0 else f"{text}; and {more} more"


def computed_of(comparison: Elementary) -> str:
    """Both sides of '=', or the difference of others, with the range over all that prints so."""
    nodes = comparison.left, comparison.right
    try:
        left, right = map(_value, nodes)
        worked: list[tuple[Node, Fraction]] = [*zip(nodes, (left, right), strict=True)]
        if comparison.relation != "=":
            worked = [(Arithmetic("-", *nodes), left - right)]
        # A bare number needs no working; a product of numbers does.
        text = "; ".join(_worked(*side) for side in worked if not isinstance(side[0], Number))
    except ZeroDivisionError:
        return "a divisor may be zero"
    if comparison.relation == "=":
        text += _touching(*nodes)
    if left and right:
        ratio = left / right
        if not 1 / FACTOR < ratio < FACTOR:
            text += f"; left is {digits(ratio, 3)} times right"
    return text


def _touching(left: Node, right: Node) -> str:
    """A note where two ranges have one end in common, which is midway between prints."""
    low, high = _range(Arithmetic("-", left, right))
    if low == high or 0 not in (low, high) or reaches_zero(Arithmetic("-", left, right)):
        return ""
    end = _range(left)[1 if low else 0]
    return f"; both could only be {digits(end)}, which one rule of rounding never prints both ways"


def _range(node: Node) -> Interval:
    return range_over(node, {leaf.key: leaf.bounds for leaf in leaves(node)})


def _worked(side: Node, value: Fraction) -> str:
    low, high = _range(side)
    ends = f"{digits(low)} to {digits(high)}"
    if isinstance(side, Cell):
        return f"{show(side)} " + ("is a count" if low == high else f"stands for {ends}")
    rounding = "" if low == high else f", with rounding {ends}"
    return f"{show(side)} = {digits(value)}{rounding}"


def _value(node: Node) -> Fraction:
    """The value of an expression at the printed digits."""
    values = {leaf.key: leaf.printed.value or Decimal(0) for leaf in leaves(node)}
    return range_over(node, {key: (value, value) for key, value in values.items()})[0]


def form_of(node: Node) -> Form | None:
    """A node as a linear form; None where it is none. Counts are constants.

    Sums, differences, means, and products or quotients with one constant factor are linear.
    """
    match node:
        case Number():
            return {None: Fraction(node.value)}
        case Cell():
            low, high = node.bounds
            return {None: Fraction(low)} if low == high else {node.key: Fraction(1)}
        case Aggregate():
            total: Form = {}
            for leaf in node.cells:
                total = added(total, form_of(leaf) or {})
            whole = node.name == "mean" or len(node.cells) == 1
            return times(total, Fraction(1, len(node.cells))) if whole else None
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
    factor = right.get(None, Fraction(0))
    if right.keys() - {None} or (sign == "/" and not factor):
        return None
    return times(left, factor if sign == "*" else 1 / factor)
