"""Does the printed table support a claim, given how its numbers were rounded?

Every printed number stands for the closed interval of values that print so. A comparison is
supported if it is true for all of them, contradicted if it is true for none. Arithmetic is exact:
in decimals as far as these are, which is nearly always, else in fractions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from typing import Any

from fedrepro.benchmark.claims.nodes import (
    Aggregate,
    Arithmetic,
    CellKey,
    Constant,
    Elementary,
    Leaf,
    Node,
    leaves,
)
from fedrepro.benchmark.results import SupportWord
from fedrepro.benchmark.spec.printed import half_unit

Interval = tuple[Fraction, Fraction]
Box = Mapping[CellKey, tuple[Decimal, Decimal]]
MOST_REPEATED = 12
"""More cells than this named twice in one comparison are bounded by interval arithmetic alone."""


def support(comparisons: Sequence[Elementary]) -> tuple[SupportWord, str]:
    """What the printed numbers say of a claim, and a sentence that names what decides."""
    words = [(support_one(comparison), comparison) for comparison in comparisons]
    order: list[SupportWord] = ["contradicted", "not printed", "undecidable"]
    for word in order:
        found = [comparison for one, comparison in words if one == word]
        if found:
            return word, f"{_REASONS[word]}: {written(found[0])}{_more(len(found), len(words))}."
    tightest = min(comparisons, key=_slack)
    return "supported", f"For all values that print so; the tightest is {written(tightest)}."


def support_one(comparison: Elementary) -> SupportWord:
    """What the printed numbers say of one comparison."""
    known = comparison.worked_out
    if "support" not in known:
        known["support"] = _support(comparison)
    word: SupportWord = known["support"]
    return word


def _support(comparison: Elementary) -> SupportWord:
    try:
        found = _printed_difference(comparison)
    except ZeroDivisionError:
        return "undecidable"
    if found is None:
        return "not printed"
    low, high = found
    match comparison.relation:
        case ">":
            always, never = low > 0, high <= 0
        case "<":
            always, never = high < 0, low >= 0
        case "=":
            always = low <= 0 <= high
            never = not always
        case "~":
            assert comparison.tolerance is not None
            tolerance = Fraction(comparison.tolerance)
            always = max(-low, high) <= tolerance
            never = max(low, -high) > tolerance
    return "supported" if always else "contradicted" if never else "undecidable"


def written(comparison: Elementary) -> str:
    """A comparison with its printed numbers: `76.80 > 69.30 (CP-CFL|SimCLR @ ... > ...)`."""
    left, right = shown(comparison.left), shown(comparison.right)
    tolerance = "" if comparison.tolerance is None else f" {comparison.tolerance}"
    return f"{left} {comparison.relation}{tolerance} {right} ({comparison.text})"


def shown(node: Node, nested: bool = False) -> str:
    """A node with printed numbers in the place of its cells."""
    match node:
        case Constant():
            return str(node.value)
        case Leaf():
            return node.cell.printed.text or "(not printed)"
        case Aggregate():
            return f"{node.name}({', '.join(shown(leaf) for leaf in node.leaves)})"
        case Arithmetic():
            text = f"{shown(node.left, True)} {node.sign} {shown(node.right, True)}"
            return f"({text})" if nested else text


def difference(comparison: Elementary, box: Box) -> Interval:
    """The range of left minus right; as `range_over`."""
    return range_over(Arithmetic("-", comparison.left, comparison.right), box)


def range_over(node: Node, box: Box) -> Interval:
    """The range of an expression over all values of its cells in `box`.

    Plain interval arithmetic is exact where each cell is named once. A cell named again is set to
    each of its bounds in turn: exact wherever the expression is monotone in it, which a sum, a
    ratio of sums or a relative difference is.

    Raises `ZeroDivisionError` if a divisor may be zero.
    """
    named = [leaf.key for leaf in leaves(node)]
    repeated = [key for key in dict.fromkeys(named) if named.count(key) > 1][:MOST_REPEATED]
    try:
        with localcontext(_EXACT):
            low, high = _extremes(node, box, repeated, Decimal)
    except Inexact:
        low, high = _extremes(node, box, repeated, Fraction)
    return Fraction(low), Fraction(high)


_EXACT = Context(prec=100, traps=[Inexact])
"""In which decimals give up instead of being rounded."""
Exact = Callable[[Any], Any]
"""`Decimal` or `Fraction`."""
Range = tuple[Any, Any]
"""An interval between two such numbers."""


def _extremes(node: Node, box: Box, repeated: Sequence[CellKey], exact: Exact) -> Range:
    known = {key: (exact(low), exact(high)) for key, (low, high) in box.items()}
    ranges = [_range(node, corner, exact) for corner in _corners(known, repeated)]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _corners(
    box: Mapping[CellKey, Range], keys: Sequence[CellKey]
) -> Iterator[Mapping[CellKey, Range]]:
    for bounds in itertools.product(*(box[key] for key in keys)):
        fixed = {key: (bound, bound) for key, bound in zip(keys, bounds, strict=True)}
        yield {**box, **fixed}


def _printed_difference(comparison: Elementary) -> Interval | None:
    """`difference` over what is printed, worked out once; None where a value is not printed.

    Raises `ZeroDivisionError` if a divisor may be zero.
    """
    known = comparison.worked_out
    if "difference" not in known:
        box = _box(comparison)
        known["difference"] = None if box is None else difference(comparison, box)
    found: Interval | None = known["difference"]
    return found


def _box(comparison: Elementary) -> Box | None:
    box: dict[CellKey, tuple[Decimal, Decimal]] = {}
    for leaf in itertools.chain(leaves(comparison.left), leaves(comparison.right)):
        if leaf.cell.printed.value is None:
            return None
        box[leaf.key] = leaf.cell.printed.bounds
    return box


def _range(node: Node, box: Mapping[CellKey, Range], exact: Exact) -> Range:
    match node:
        case Constant():
            value = exact(node.value)
            half = exact(half_unit(node.value)) if node.as_printed else 0
            return value - half, value + half
        case Leaf():
            return box[node.key]
        case Aggregate():
            ranges = [box[leaf.key] for leaf in node.leaves]
            lows, highs = [low for low, _ in ranges], [high for _, high in ranges]
            if node.name == "mean":
                return sum(lows) / len(lows), sum(highs) / len(highs)
            pick = max if node.name == "max" else min
            return pick(lows), pick(highs)
        case Arithmetic():
            left, right = (_range(side, box, exact) for side in (node.left, node.right))
            return _combine(node.sign, left, right)


def _combine(sign: str, left: Range, right: Range) -> Range:
    if sign == "+":
        return left[0] + right[0], left[1] + right[1]
    if sign == "-":
        return left[0] - right[1], left[1] - right[0]
    if sign == "/":
        if right[0] <= 0 <= right[1]:
            raise ZeroDivisionError
        right = 1 / right[1], 1 / right[0]
    products = [a * b for a in left for b in right]
    return min(products), max(products)


def _slack(comparison: Elementary) -> Fraction:
    found = _printed_difference(comparison)
    assert found is not None
    low, high = found
    match comparison.relation:
        case ">":
            return low
        case "<":
            return -high
        case "=":
            return min(-low, high)
        case "~":
            return Fraction(comparison.tolerance or 0) - max(-low, high)


_REASONS = {
    "contradicted": "No values that print so agree",
    "not printed": "A value is not printed",
    "undecidable": "Rounding leaves both answers open",
}


def _more(found: int, of: int) -> str:
    return "" if of == 1 else f"; {found} of {of} comparisons"
