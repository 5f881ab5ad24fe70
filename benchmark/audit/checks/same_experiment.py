"""Is one experiment printed with one value, wherever a paper prints it?

Compared are values of the same experiment, measure, round and trial. Two tables are taken to print
the same runs if at least half of the experiments that they share agree. Else a difference is
undecidable. Between a single number and a mean with its spread it is then no finding at all.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from ...printable import plural
from ...spec.model import Paper
from ..findings import Finding, finding
from ..identity import ComparableValue, Pair, grouped, numbers, tables_of
from ..rounding import can_be_one_value

KIND = "same-experiment"
Shared = Mapping[tuple[str, str], tuple[int, int]]
"""By two tables, how many of the values that they share agree, and how many these are."""
_ALL = 100  # of more values of one experiment than this, equal ones of a table are compared once


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for every experiment with several values, and one for tables that agree."""
    found = grouped(numbers(paper), lambda one: (one.quantity, one.cell.trial)).values()
    quantities = []
    for alike in found:
        places = grouped(alike, lambda one: (one.cell.table, one.cell.bounds, one.has_spread))
        quantities.append(alike if len(alike) <= _ALL else [first for first, *_ in places.values()])
    pairs = (pair for alike in quantities for pair in itertools.combinations(alike, 2))
    by_tables = grouped(pairs, tables_of)
    shared = {tables: (sum(map(agree, both)), len(both)) for tables, both in by_tables.items()}
    for alike in quantities:
        apart = [
            pair
            for pair in itertools.combinations(alike, 2)
            # Both are means of runs, or both single numbers, or their tables print the same runs.
            if not agree(pair) and (pair[0].has_spread == pair[1].has_spread or same(pair, shared))
        ]
        if apart:
            yield _disagreement(alike, apart, shared)
    for both in by_tables.values():
        if same(both[0], shared):
            one, other = tables_of(both[0])
            agreeing = [pair for pair in both if agree(pair)]
            where = (
                f"Tables {one} and {other} print" if one != other else f"Table {one} prints twice"
            )
            yield finding(
                (KIND, "tables", one, other),
                (number.cell for pair in agreeing for number in pair),
                statement=f"{where} values of the same experiments, and these agree.",
                published=plural(len(both), "shared value"),
                computed=f"{len(agreeing)} of {len(both)} agree within rounding",
                status="consistent",
            )


def agree(pair: Pair) -> bool:
    """Whether both can print one value."""
    return can_be_one_value(pair[0].cell.bounds, pair[1].cell.bounds)


def same(pair: Pair, shared: Shared) -> bool:
    """Whether their tables print the same runs."""
    agreeing, of = shared[tables_of(pair)]
    return 2 * agreeing >= of


def _disagreement(
    alike: Sequence[ComparableValue], apart: Sequence[Pair], shared: Shared
) -> Finding:
    known = [pair for pair in apart if same(pair, shared)]
    told = max(known or apart, key=lambda pair: shared[tables_of(pair)][1])
    agreeing, of = shared[tables_of(told)]
    one, other = (number.cell for number in told)
    tables = f"tables {one.table} and {other.table}"
    if one.table == other.table:
        tables = f"two places of table {one.table}"
    evidence = (
        f"{tables} agree in {agreeing} of the {of} values of experiments "
        f"that they share{'' if known else ', so that they may be other runs'}"
    )
    places = grouped((number.cell for number in alike), lambda cell: str(cell.printed))
    (low, high), (least, most) = (map(float, number.cell.bounds) for number in told)
    return finding(
        (KIND, one.table, *one.row, *one.column),
        (number.cell for number in alike),
        statement=f"{one.label} (table {one.table}) and {other.label} (table {other.table}) are "
        f"one experiment and have one value; {evidence}.",
        published=", ".join(
            f"{text} (table {', '.join(dict.fromkeys(cell.table for cell in cells))})"
            for text, cells in places.items()
        ),
        computed=f"{one.printed.text} stands for {low:g} to {high:g}, "
        f"{other.printed.text} for {least:g} to {most:g}",
        status="inconsistent" if known else "undecidable",
    )
