"""Claims and relations as findings show them, and their sides as weighted sums of cells."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from ..claims.grammar import Number
from ..claims.nodes import Elementary, Node, leaves, show
from ..claims.printed import ExactRange, range_over, reaches_zero
from ..spec.model import Cell, CellKey
from .rounding import digits

MOST_SHOWN = 4  # more comparisons than this are counted instead of written out
FACTOR = Fraction(3, 2)  # sides that differ by more than this factor are shown with their ratio


def published_of(comparisons: Sequence[Elementary]) -> str:
    """The comparisons with printed numbers in the place of cells."""
    return listed(list(dict.fromkeys(one.printed for one in comparisons)))


def listed(written: Sequence[str]) -> str:
    """The first `MOST_SHOWN`, and how many more there are."""
    more = len(written) - MOST_SHOWN
    return "; ".join(written[:MOST_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def computed_of(comparison: Elementary) -> str:
    """Both sides of '=', or the difference of others, with the range over all that prints so."""
    nodes = comparison.left, comparison.right
    is_equation = comparison.relation == "="
    try:
        left, right = map(_value, nodes)
        # A bare number needs no working; a product of numbers does.
        worked = [one for one in nodes if not isinstance(one, Number)]
        text = "; ".join(map(_worked, worked if is_equation else [comparison.difference]))
        text += _touching(comparison) if is_equation else ""
    except ZeroDivisionError:
        return "a divisor may be zero"
    if left and right and not 1 / FACTOR < left / right < FACTOR:
        text += f"; the left side is {digits(left / right, 3)} times the right one"
    return text


def _touching(comparison: Elementary) -> str:
    """A note where two ranges have one end in common, midway between two printed numbers."""
    low, high = _range(comparison.difference)
    if low == high or 0 not in (low, high) or reaches_zero(comparison.difference):
        return ""
    end = digits(_range(comparison.difference.left)[1 if low else 0])
    return f"; both could only be {end}, which one rule of rounding never gives both ways"


def _range(node: Node) -> ExactRange:
    return range_over(node, {leaf.key: leaf.bounds for leaf in leaves(node)})


def _worked(side: Node) -> str:
    low, high = _range(side)
    ends = f"{digits(low)} to {digits(high)}"
    if isinstance(side, Cell):
        return f"{show(side)} " + ("is a count" if low == high else f"stands for {ends}")
    rounding = "" if low == high else f", with rounding {ends}"
    return f"{show(side)} = {digits(_value(side))}{rounding}"


def _value(node: Node) -> Fraction:
    values = {leaf.key: leaf.printed.value or Decimal(0) for leaf in leaves(node)}
    return range_over(node, {key: (value, value) for key, value in values.items()})[0]


def weights_of(node: Node) -> Mapping[CellKey, Fraction] | None:
    """The weights of cells in an expression that is linear in them, counts as constants; else None.
    It is tried at zero, at each cell alone, and at all together. No weight is zero."""
    bounds = {leaf.key: leaf.bounds for leaf in leaves(node)}
    free = [key for key, (low, high) in bounds.items() if low < high]

    def at(values: Mapping[CellKey, int]) -> Fraction:
        tried = {key: Decimal(values.get(key, 0)) for key in free}
        return range_over(node, bounds | {key: (one, one) for key, one in tried.items()})[0]

    together = {key: 1009 + i * i for i, key in enumerate(free)}
    try:
        constant = at({})
        weights = {key: at({key: 1}) - constant for key in free}
        if at(together) - constant != sum(w * together[key] for key, w in weights.items()):
            return None
    except ZeroDivisionError:
        return None
    return {key: weight for key, weight in weights.items() if weight}
