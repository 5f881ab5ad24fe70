"""Is one experiment printed with one value, wherever a paper prints it?

Equal experiments may still be other runs (a single run here, the mean of five there). Two tables
are taken to print the same runs if at least half of the experiments that they share agree; only
then is a difference inconsistent. Otherwise it is undecidable, and between a single number and a
mean with its spread no finding at all.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

from benchmark.audit.findings import Finding, Status, finding
from benchmark.audit.identity import experiment_of, measure_of, numbers, round_of
from benchmark.audit.rounding import can_be_one_value, interval
from benchmark.spec.types import Cell, Paper

KIND = "same-experiment"
Pair = tuple[Cell, Cell]


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for every experiment with several values, and one for tables that agree."""
    groups = [cells for cells in same_quantity(paper) if len(cells) > 1]
    shared: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for cells in groups:
        for one, other in itertools.combinations(cells, 2):
            shared[one.table, other.table].append((one, other))
    for cells in groups:
        pairs = [
            (one, other)
            for one, other in itertools.combinations(cells, 2)
            if not agree(one, other) and _comparable(one, other, shared)
        ]
        if pairs:
            yield _disagreement(paper, cells, pairs, shared)
    for (first, second), pairs in shared.items():
        agreeing = [pair for pair in pairs if agree(*pair)]
        if _same_runs(pairs):
            yield _agreement(paper, first, second, agreeing, len(pairs))


def same_quantity(paper: Paper) -> list[list[Cell]]:
    """The cells of a paper, grouped by experiment, measure, round and trial."""
    groups: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in numbers(paper):
        key = (experiment_of(cell), measure_of(cell), round_of(cell), cell.trial)
        groups[key].append(cell)
    return list(groups.values())


def agree(one: Cell, other: Cell) -> bool:
    """Whether both can print one value."""
    return can_be_one_value(interval(one.printed), interval(other.printed))


def _same_runs(pairs: Sequence[Pair]) -> bool:
    return 2 * sum(agree(*pair) for pair in pairs) >= len(pairs)


def _comparable(one: Cell, other: Cell, shared: dict[tuple[str, str], list[Pair]]) -> bool:
    """Both are means of runs, or both single numbers, or their tables print the same runs."""
    alike = (one.printed.sd is None) == (other.printed.sd is None)
    return alike or _same_runs(shared[one.table, other.table])


def _disagreement(
    paper: Paper,
    cells: Sequence[Cell],
    pairs: Sequence[Pair],
    shared: dict[tuple[str, str], list[Pair]],
) -> Finding:
    known = [pair for pair in pairs if _same_runs(shared[pair[0].table, pair[1].table])]
    status: Status = "inconsistent" if known else "undecidable"
    one, other = max(known or pairs, key=lambda p: len(shared[p[0].table, p[1].table]))
    others = shared[one.table, other.table]
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
        cells,
        statement=f"{one.label} (table {one.table}) and {other.label} (table {other.table}) are "
        f"one experiment and have one value; {evidence}.",
        published=_by_value(cells),
        computed=f"{one.printed.text} stands for {_range(one)}, "
        f"{other.printed.text} for {_range(other)}",
        status=status,
    )


def _agreement(paper: Paper, one: str, other: str, agreeing: Sequence[Pair], of: int) -> Finding:
    where = f"Tables {one} and {other} print" if one != other else f"Table {one} prints twice"
    return finding(
        paper,
        KIND,
        ("tables", one, other),
        itertools.chain.from_iterable(agreeing),
        statement=f"{where} values of the same experiments, and these agree.",
        published=f"{of} shared {'value' if of == 1 else 'values'}",
        computed=f"{len(agreeing)} of {of} agree within rounding",
        status="consistent",
    )


def _by_value(cells: Sequence[Cell]) -> str:
    places: dict[str, list[str]] = defaultdict(list)
    for cell in cells:
        places[str(cell.printed)].append(cell.table)
    return ", ".join(
        f"{text} (table {', '.join(dict.fromkeys(tables))})" for text, tables in places.items()
    )


def _range(cell: Cell) -> str:
    low, high = interval(cell.printed)
    return f"{float(low):g} to {float(high):g}"
