"""Do rows of different experiments print the same value in every cell?

One row may be the other under another name, or copied, or alike by chance. For the chance, values
measured under the same conditions are taken as independent and evenly spread over their range. The
number of other rows that were compared is allowed for.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from ...spec.fields import Label
from ...spec.model import Paper
from ..findings import Finding, finding
from ..identity import ComparableValue, Pair, grouped, numbers

LIKELY = 0.05
Places = Mapping[tuple[object, ...], Sequence[ComparableValue]]
"""Numbers by the conditions under which they were measured."""


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each pair of row labels whose values are too alike."""
    cells = (one for one in numbers(paper) if one.cell.kind == "empirical")
    values = [one for one in cells if one.cell.trial is None]
    places = grouped(values, lambda one: one.conditions)
    known = {key: [Fraction(x.cell.printed.value or 0) for x in one] for key, one in places.items()}
    widths = {key: max(held) - min(held) for key, held in known.items()}
    found: dict[frozenset[Label], tuple[Sequence[Pair], float, int]] = {}
    for row in grouped(values, lambda one: (one.cell.table, one.cell.row)).values():
        others = counterparts(row, places)
        for label, pairs in others.items():
            printed = [[(x.cell.printed.value, x.cell.printed.sd) for x in pair] for pair in pairs]
            if len(pairs) < min(2, len(row)) or not all(one == other for one, other in printed):
                continue
            chance = float(len(others))
            for one, _ in pairs:
                width, unit = widths[one.conditions], 2 * Fraction(one.cell.printed.half_unit)
                chance *= float(min(Fraction(1), unit / width)) if width else 1.0
            labels = frozenset((row[0].cell.row, label))
            # The longer row tells all that parts of it in other tables would tell again.
            if chance <= LIKELY and (labels not in found or len(pairs) > len(found[labels][0])):
                found[labels] = pairs, chance, len(others)
    for repeated, chance, of in found.values():
        first, second = (number.cell for number in repeated[0])
        tables = ", ".join(dict.fromkeys(number.cell.table for _, number in repeated))
        shown = "the one cell" if len(repeated) == 1 else f"all {len(repeated)} cells"
        yield finding(
            ("repeat", first.table, *first.row, "and", *second.row),
            (number.cell for pair in repeated for number in pair),
            statement=f"'{' · '.join(first.row)}' (table {first.table}) and "
            f"'{' · '.join(second.row)}' (table {tables}) are different experiments and equal in "
            f"{shown} that can be compared: one may be the other under another name, which the "
            "paper does not say.",
            published=", ".join(str(number.cell.printed) for number, _ in repeated),
            computed=f"by chance with probability {chance:.2g}, were values independent "
            f"({of} other rows compared)",
            status="undecidable",
        )


def counterparts(row: Sequence[ComparableValue], places: Places) -> dict[Label, list[Pair]]:
    """By label of another row (of any table), the pairs with it under the same conditions. Labels
    under which any number is of the same experiment are no counterparts."""
    found: dict[Label, dict[int, Pair]] = defaultdict(dict)
    same: set[Label] = set()
    for i, one in enumerate(row):
        for other in places[one.conditions]:
            if other.experiment == one.experiment:
                same.add(other.cell.row)
            elif other.has_spread == one.has_spread:
                found[other.cell.row].setdefault(i, (one, other))
    return {label: list(pairs.values()) for label, pairs in found.items() if label not in same}
