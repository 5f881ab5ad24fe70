"""Does the printed table support a claim, given how its numbers were rounded?

Every printed number stands for the interval of values that print so; a count stands for itself. A
comparison is supported if it is true for all of them, contradicted if it is true for none.
Arithmetic is exact. Over all values between the ends of metrics it finds what no run could break.

Two intervals that only touch have one value in common, midway between printed ones: 84.55 prints as
84.5 or as 84.6 by one rule (half up, half to even). They can be equal if one rule closes both ends.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Literal

from ..metrics import MetricRange, metric
from ..spec.model import Cell, CellKey
from ..spec.printed import RULES, Rule, closed_ends, half_unit
from .grammar import Aggregate, Arithmetic, Number
from .nodes import Elementary, Node, leaves

SupportWord = Literal["supported", "contradicted", "undecidable", "not printed"]
ExactRange = tuple[Fraction, Fraction]
_LITTLE = Fraction(1, 10**60)
_ENDLESS = Decimal(10**12)  # stands for the end of a metric that has none
_INSIDE = Decimal("1e-12")
"""How far from the ends of metrics values are tried: a claim must not fail at an end alone."""
MOST_WORK = 2**14
"""Corners times named cells: where more would be tried, fewer cells are set to their bounds."""


def support(comparisons: Sequence[Elementary]) -> tuple[SupportWord, str]:
    """What the printed numbers say of a claim, and a sentence that names what decides."""
    judged = [(*_judged(one), one) for one in comparisons]
    for word in _REASONS:
        found = [(slack, one) for own, slack, one in judged if own == word]
        if found:
            slack, one = found[0]
            more = "" if len(judged) == 1 else f"; {len(found)} of {len(judged)} comparisons"
            reason = "A divisor may be zero" if slack is None else _REASONS[word]
            return word, f"{reason}: {one.printed} ({one.text}){more}."
    _, _, one = min(judged, key=lambda one: one[1] or 0)
    tightest = f"the tightest is {one.printed} ({one.text})"
    return "supported", f"For all values that round to the published ones; {tightest}."


def _judged(comparison: Elementary) -> tuple[SupportWord, Fraction | None]:
    """The word of a comparison, and by how much the worst values that print so still agree. The
    second is None where a divisor may be zero."""
    cells = {leaf.key: leaf for leaf in comparison.leaves}
    if any(one.printed.value is None for one in cells.values()):
        return "not printed", Fraction(0)
    difference = comparison.difference
    if all(one.is_count for one in cells.values()) and not _is_rounded(difference):
        difference = comparison.exact
    try:
        low, high = range_over(difference, {key: one.bounds for key, one in cells.items()})
        touching = comparison.relation == "=" and 0 in (low, high) and low < high
        apart = touching and not reaches_zero(difference)
    except ZeroDivisionError:
        return "undecidable", None
    match comparison.relation:
        case ">":
            slack, always, never = low, low > 0, high <= 0
        case "<":
            slack, always, never = -high, high < 0, low >= 0
        case "=":
            slack = min(-low, high)
            always = slack >= 0 and not apart
            never = not always
        case "~":
            tolerance = Fraction(comparison.tolerance or 0)
            slack, never = tolerance - max(-low, high), max(low, -high) > tolerance
            always = slack >= 0
    return "supported" if always else "contradicted" if never else "undecidable", slack


def _is_rounded(node: Node) -> bool:
    """Whether whole numbers may give a fraction here, which a text would round."""
    match node:
        case Arithmetic():
            return node.sign == "/" or _is_rounded(node.left) or _is_rounded(node.right)
        case _:
            return isinstance(node, Aggregate) and node.name == "mean"


def range_over(node: Node, box: Mapping[CellKey, tuple[Decimal, Decimal]]) -> ExactRange:
    """The range of an expression over all values of its cells in `box`.

    Interval arithmetic is exact where each cell is named once. A cell named again is set to each of
    its bounds: exact where the expression is monotone in it, as sums and ratios of sums are. Raises
    `ZeroDivisionError` if a divisor may be zero."""
    named = [leaf.key for leaf in leaves(node)]
    affordable = (MOST_WORK // max(1, len(named))).bit_length() - 1
    repeated = [key for key, times in Counter(named).items() if times > 1][: max(0, affordable)]
    known = {key: (Fraction(low), Fraction(high)) for key, (low, high) in box.items()}
    ranges = []
    for ends in itertools.product(*(known[key] for key in repeated)):
        corner = {key: (end, end) for key, end in zip(repeated, ends, strict=True)}
        ranges.append(_range(node, {**known, **corner}))
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def reaches_zero(node: Node) -> bool:
    """Whether an expression whose range ends at zero is zero for numbers rounded by one rule. One
    that names a cell twice is taken to be. Raises `ZeroDivisionError` as `range_over` does."""
    named = [leaf.key for leaf in leaves(node)]
    if len(set(named)) < len(named):
        return True
    for rule in RULES:
        box = {leaf.key: _inside(leaf.bounds, leaf.closed_ends(rule)) for leaf in leaves(node)}
        low, high = _range(node, box, rule)
        if low <= 0 <= high:
            return True
    return False


def _inside(bounds: tuple[Decimal, Decimal], closed: tuple[bool, bool]) -> ExactRange:
    """A range whose open ends are drawn in by less than any printed digit."""
    low, high = map(Fraction, bounds)
    return low if closed[0] else low + _LITTLE, high if closed[1] else high - _LITTLE


def _range(node: Node, box: Mapping[CellKey, ExactRange], rule: Rule | None = None) -> ExactRange:
    """The range of an expression by interval arithmetic; with no rule all ends are closed."""
    match node:
        case Number():
            half = half_unit(node.value) if node.as_printed else Decimal(0)
            closed = (True, True) if rule is None or not half else closed_ends(node.value, rule)
            return _inside((node.value - half, node.value + half), closed)
        case Cell():
            return box[node.key]
        case Aggregate():
            lows, highs = zip(*(box[leaf.key] for leaf in node.cells), strict=True)
            if node.name == "mean":
                return sum(lows) / Fraction(len(lows)), sum(highs) / Fraction(len(highs))
            pick = max if node.name == "max" else min
            return pick(lows), pick(highs)
        case Arithmetic():
            return _combine(node.sign, _range(node.left, box, rule), _range(node.right, box, rule))


def _combine(sign: str, left: ExactRange, right: ExactRange) -> ExactRange:
    low, high = right
    if sign == "-":
        low, high = -high, -low
    if sign in "+-":
        return left[0] + low, left[1] + high
    if sign == "/":
        if low <= 0 <= high:
            raise ZeroDivisionError
        low, high = 1 / high, 1 / low
    products = [x * y for x in left for y in (low, high)]
    return min(products), max(products)


_REASONS: Mapping[SupportWord, str] = {
    "contradicted": "No values that round to the published ones agree",
    "not printed": "A value is not printed",
    "undecidable": "Rounding leaves both answers open",
}
"""By word, in the order in which one comparison decides over the others."""


def why_unbreakable(comparison: Elementary) -> str | None:
    """Why a comparison is true (or false) whatever its cells hold; None where it can be either.
    Interval arithmetic may make a range too wide, so a comparison that is named here is certain."""
    low, high = _possible_difference(comparison)
    near = max(-low, high) <= (comparison.tolerance or -1)
    always = {">": low > 0, "<": high < 0}.get(comparison.relation, near)
    if low < high and not always:
        return None
    ends = map(_possible, comparison.leaves)
    told = sorted({f"{low:f} to {high:f}" for low, high in ends if high < _ENDLESS})
    known = f" (from {', '.join(told)})" if told else ""
    return f"all values between the metric's ends{known} say the same"


def why_never_above(comparison: Elementary, least: float) -> str | None:
    """Why the difference that a comparison states never exceeds `least`; None where it may."""
    low, high = _possible_difference(comparison)
    most = high if comparison.relation == ">" else -low
    return None if most > least else f"no difference can exceed {least:g}; at most {float(most):g}"


def _possible_difference(comparison: Elementary) -> ExactRange:
    """The range of left less right over all values between the ends that cells can have. No two
    cells are equally near to an end, where differences would be zero and divide by it."""
    box = dict[CellKey, tuple[Decimal, Decimal]]()
    for at, (key, leaf) in enumerate({one.key: one for one in comparison.leaves}.items(), 1):
        (low, high), inside = _possible(leaf), at * _INSIDE
        box[key] = low + inside, high - inside
    draw = Random(0)

    def at_random() -> ExactRange:
        ends = ((key, low, Fraction(high - low)) for key, (low, high) in box.items())
        drawn = ((key, Fraction(low) + wide * Fraction(draw.random())) for key, low, wide in ends)
        return _range(comparison.exact, {key: (value, value) for key, value in drawn})

    try:
        first = at_random()
        if all(at_random() == first for _ in range(400)):
            return first  # its cells cancel
        return range_over(comparison.exact, box)
    except ZeroDivisionError:
        return -Fraction(_ENDLESS), Fraction(_ENDLESS)


def _possible(leaf: Cell) -> tuple[Decimal, Decimal]:
    """The least and the largest value that a cell can have, in its unit."""
    low, high = (metric(leaf.metric) or MetricRange()).bounds(leaf.unit)
    return max(-_ENDLESS, Decimal(low)), min(_ENDLESS, Decimal(high))
