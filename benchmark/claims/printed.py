"""Does the printed table support a claim, given how its numbers were rounded?

Every printed number stands for the closed interval of values that print so. A comparison is
supported if it is true for all of them, contradicted if it is true for none. Arithmetic is exact:
in decimals as far as these are, which is nearly always, else in fractions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
MOST_WORK = 2**14
"""Corners times named cells: where more would be tried, fewer cells are set to their bounds."""


def support(comparisons: Sequence[Elementary]) -> tuple[SupportWord, str]:
    """What the printed numbers say of a claim, and a sentence that names what decides."""
    judged = [(_judged(comparison), comparison) for comparison in comparisons]
    for word in _REASONS:
        found = [(one, comparison) for one, comparison in judged if one.word == word]
        if found:
            one, comparison = found[0]
            reason = "A divisor may be zero" if one.zero_divisor else _REASONS[word]
            return word, f"{reason}: {written(comparison)}{_more(len(found), len(judged))}."
    _, tightest = min(judged, key=lambda pair: pair[0].slack)
    return "supported", f"For all values that print so; the tightest is {written(tightest)}."


def support_one(comparison: Elementary) -> SupportWord:
    """What the printed numbers say of one comparison."""
    return _judged(comparison).word


@dataclass(frozen=True)
class _Judged:
    """What the printed numbers say of a comparison.

    slack: of a supported one, by how much the worst values that print so still agree.
    """

    word: SupportWord
    slack: Fraction = Fraction(0)
    zero_divisor: bool = False


def _judged(comparison: Elementary) -> _Judged:
    box = _box(comparison)
    if box is None:
        return _Judged("not printed")
    try:
        low, high = difference(comparison, box)
    except ZeroDivisionError:
        return _Judged("undecidable", zero_divisor=True)
    match comparison.relation:
        case ">":
            slack, never = low, high <= 0
            always = low > 0
        case "<":
            slack, never = -high, low >= 0
            always = high < 0
        case "=":
            slack = min(-low, high)
            always = slack >= 0
            never = not always
        case "~":
            tolerance = Fraction(comparison.tolerance or 0)
            slack, never = tolerance - max(-low, high), max(low, -high) > tolerance
            always = slack >= 0
    return _Judged("supported" if always else "contradicted" if never else "undecidable", slack)


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
    affordable = (MOST_WORK // max(1, len(named))).bit_length() - 1
    repeated = [key for key, times in Counter(named).items() if times > 1]
    repeated = repeated[: max(0, min(MOST_REPEATED, affordable))]
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


_REASONS: Mapping[SupportWord, str] = {
    "contradicted": "No values that print so agree",
    "not printed": "A value is not printed",
    "undecidable": "Rounding leaves both answers open",
}
"""By word, in the order in which one comparison decides over the others."""


def _more(found: int, of: int) -> str:
    return "" if of == 1 else f"; {found} of {of} comparisons"
