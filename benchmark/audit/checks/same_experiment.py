"""Is one experiment printed with one value, wherever a paper prints it?

What is shared is a quantity: the same experiment, measure, round and trial. Equal experiments may
still be other runs (a single run here, the mean of five there). Two tables are taken to print the
same runs if at least half of the experiments that they share agree; only then is a difference
inconsistent. Otherwise it is undecidable, and between a single number and a mean with its spread
no finding at all.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...spec.model import Paper
from ..findings import Finding, Status, finding
from ..identity import ComparableValue, numbers
from ..rounding import can_be_one_value

KIND = "same-experiment"
Pair = tuple[ComparableValue, ComparableValue]


@dataclass(frozen=True)
class Shared:
    """The values of a paper that are printed more than once.

    groups: by quantity, where the paper prints several. pairs: by two tables, the values that they
    share.
    """

    groups: Sequence[Sequence[ComparableValue]]
    pairs: Mapping[tuple[str, str], Sequence[Pair]]

    def same_runs(self, one: ComparableValue, other: ComparableValue) -> bool:
        """Whether their tables print the same runs."""
        pairs = self.pairs[tables_of((one, other))]
        return 2 * sum(agree(*pair) for pair in pairs) >= len(pairs)


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for every experiment with several values, and one for tables that agree."""
    shared = shared_values(paper)
    for alike in shared.groups:
        pairs = [
            (one, other)
            for one, other in itertools.combinations(alike, 2)
            if not agree(one, other) and _comparable(one, other, shared)
        ]
        if pairs:
            yield _disagreement(paper, alike, pairs, shared)
    for (first, second), both in shared.pairs.items():
        agreeing = [pair for pair in both if agree(*pair)]
        if shared.same_runs(*both[0]):
            yield _agreement(paper, first, second, agreeing, len(both))


def shared_values(paper: Paper) -> Shared:
    """What a paper prints more than once."""
    quantities: dict[tuple[object, ...], list[ComparableValue]] = defaultdict(list)
    for one in numbers(paper):
        quantities[one.experiment, one.measure, one.round, one.cell.trial].append(one)
    groups = [alike for alike in quantities.values() if len(alike) > 1]
    pairs: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for alike in groups:
        for pair in itertools.combinations(alike, 2):
            pairs[tables_of(pair)].append(pair)
    return Shared(groups, pairs)


def agree(one: ComparableValue, other: ComparableValue) -> bool:
    """Whether both can print one value."""
    return can_be_one_value(one.bounds, other.bounds)


def tables_of(pair: Pair) -> tuple[str, str]:
    """The tables that print the two values."""
    return pair[0].cell.table, pair[1].cell.table


def _comparable(one: ComparableValue, other: ComparableValue, shared: Shared) -> bool:
    """Both are means of runs, or both single numbers, or their tables print the same runs."""
    return one.has_spread == other.has_spread or shared.same_runs(one, other)


def _disagreement(
    paper: Paper,
    alike: Sequence[ComparableValue],
    pairs: Sequence[Pair],
    shared: Shared,
) -> Finding:
    known = [pair for pair in pairs if shared.same_runs(*pair)]
    status: Status = "inconsistent" if known else "undecidable"
    told = max(known or pairs, key=lambda pair: len(shared.pairs[tables_of(pair)]))
    others = shared.pairs[tables_of(told)]
    one, other = (number.cell for number in told)
    count = f"{sum(agree(*pair) for pair in others)} of the {len(others)} values"
    tables = f"tables {one.table} and {other.table}"
    if one.table == other.table:
        tables = f"two places of table {one.table}"
    evidence = f"{tables} agree in {count} of experiments that they share" + (
        "" if known else ", so that they may be other runs"
    )
    return finding(
        paper,
        KIND,
        (one.table, *one.row, *one.column),
        (number.cell for number in alike),
        statement=f"{one.label} (table {one.table}) and {other.label} (table {other.table}) are "
        f"one experiment and have one value; {evidence}.",
        published=_by_value(alike),
        computed=f"{one.printed.text} stands for {_range(told[0])}, "
        f"{other.printed.text} for {_range(told[1])}",
        status=status,
    )


def _agreement(paper: Paper, one: str, other: str, agreeing: Sequence[Pair], of: int) -> Finding:
    where = f"Tables {one} and {other} print" if one != other else f"Table {one} prints twice"
    return finding(
        paper,
        KIND,
        ("tables", one, other),
        (number.cell for pair in agreeing for number in pair),
        statement=f"{where} values of the same experiments, and these agree.",
        published=f"{of} shared {'value' if of == 1 else 'values'}",
        computed=f"{len(agreeing)} of {of} agree within rounding",
        status="consistent",
    )


def _by_value(alike: Sequence[ComparableValue]) -> str:
    places: dict[str, list[str]] = defaultdict(list)
    for cell in (one.cell for one in alike):
        places[str(cell.printed)].append(cell.table)
    return ", ".join(
        f"{text} (table {', '.join(dict.fromkeys(tables))})" for text, tables in places.items()
    )


def _range(number: ComparableValue) -> str:
    low, high = number.bounds
    return f"{float(low):g} to {float(high):g}"
