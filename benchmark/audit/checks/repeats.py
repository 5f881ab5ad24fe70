"""Do rows of different experiments print the same value in every cell?

Nothing forbids it, so the finding is `undecidable`: either one row is the other under another name,
or digits were copied, or it is chance. For the chance, values measured under the same conditions
are taken as independent and evenly spread over their range; as many other rows as could have been
met are allowed for. Rows whose agreement is likelier than `LIKELY` by chance are passed over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchmark.audit.findings import Finding, finding
from benchmark.audit.identity import conditions_of, experiment_of, numbers
from benchmark.printed import half_unit
from benchmark.spec.types import Cell, Paper

KIND = "repeat"
LIKELY = 0.05
Label = tuple[str, ...]
Pair = tuple[Cell, Cell]


@dataclass(frozen=True)
class Repeat:
    """A row whose cells are all equal to those of `label`, which is one of `others` rows."""

    label: Label
    pairs: Sequence[Pair]
    chance: float
    others: int


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each pair of row labels whose values are too alike."""
    cells = [cell for cell in numbers(paper) if cell.kind == "empirical" and cell.trial is None]
    places: dict[str, list[Cell]] = defaultdict(list)
    rows: dict[tuple[str, Label], list[Cell]] = defaultdict(list)
    for cell in cells:
        places[conditions_of(cell)].append(cell)
        rows[cell.table, cell.row].append(cell)
    found: dict[frozenset[Label], Repeat] = {}
    for row in rows.values():
        others = counterparts(row, places)
        for label, pairs in others.items():
            if len(pairs) < min(2, len(row)) or not all(_equal(*pair) for pair in pairs):
                continue
            chance = min(1.0, _chance([one for one, _ in pairs], places) * len(others))
            labels = frozenset((row[0].row, label))
            # The longer row tells all that parts of it in other tables would tell again.
            if chance <= LIKELY and (labels not in found or len(pairs) > len(found[labels].pairs)):
                found[labels] = Repeat(label, pairs, chance, len(others))
    yield from (_repeat(paper, repeat) for repeat in found.values())


def counterparts(
    row: Sequence[Cell], places: Mapping[str, Sequence[Cell]]
) -> dict[Label, list[Pair]]:
    """By label of another row (of any table), the pairs with it under the same conditions.

    Labels under which any cell is the same experiment are no counterparts.
    """
    found: dict[Label, dict[int, Pair]] = defaultdict(dict)
    same: set[Label] = set()
    for i, cell in enumerate(row):
        for other in places[conditions_of(cell)]:
            if experiment_of(other) == experiment_of(cell):
                same.add(other.row)
            elif (other.printed.sd is None) == (cell.printed.sd is None):
                found[other.row].setdefault(i, (cell, other))
    return {label: list(pairs.values()) for label, pairs in found.items() if label not in same}


def _equal(one: Cell, other: Cell) -> bool:
    return (one.printed.value, one.printed.sd) == (other.printed.value, other.printed.sd)


def _chance(cells: Sequence[Cell], places: Mapping[str, Sequence[Cell]]) -> float:
    """That all of these values are met by one other row."""
    chance = 1.0
    for cell in cells:
        values = [other.printed.value for other in places[conditions_of(cell)]]
        known = [Fraction(value) for value in values if value is not None]
        assert cell.printed.value is not None
        unit = 2 * Fraction(half_unit(cell.printed.value))
        width = max(known) - min(known)
        chance *= float(min(Fraction(1), unit / width)) if width else 1.0
    return chance


def _repeat(paper: Paper, repeat: Repeat) -> Finding:
    pairs = repeat.pairs
    one, other = pairs[0]
    tables = ", ".join(dict.fromkeys(cell.table for _, cell in pairs))
    cells = "the one cell" if len(pairs) == 1 else f"all {len(pairs)} cells"
    return finding(
        paper,
        KIND,
        (one.table, *one.row, "and", *repeat.label),
        (cell for pair in pairs for cell in pair),
        statement=f"'{' · '.join(one.row)}' (table {one.table}) and '{' · '.join(other.row)}' "
        f"(table {tables}) are different experiments and equal in {cells} that can be compared: "
        "one may be the other under another name, which the paper does not say.",
        published=", ".join(str(cell.printed) for cell, _ in pairs),
        computed=f"by chance with probability {repeat.chance:.2g}, were values independent "
        f"({repeat.others} other rows compared)",
        status="undecidable",
    )
