"""Is the best round of a run at least as good as every other round that is printed of it?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from benchmark.audit.findings import Finding, finding
from benchmark.audit.identity import experiment_of, measure_of, numbers, round_of
from benchmark.audit.rounding import interval
from benchmark.spec.types import Cell, Paper

KIND = "best-round"


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for every best value that is too low, and one for each pair of tables."""
    runs: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in numbers(paper):
        spread = cell.printed.sd is None
        runs[experiment_of(cell), measure_of(cell), cell.trial, spread].append(cell)
    compared: dict[tuple[str, str], list[tuple[Cell, Cell]]] = defaultdict(list)
    for cells in runs.values():
        for best in (cell for cell in cells if round_of(cell) == "best"):
            for other in (cell for cell in cells if round_of(cell) != "best"):
                compared[best.table, other.table].append((best, other))
    for pairs in compared.values():
        low = [pair for pair in pairs if not can_be_best(*pair)]
        yield from (_too_low(paper, *pair) for pair in low)
        yield _tables(paper, [pair for pair in pairs if pair not in low], pairs)


def can_be_best(best: Cell, other: Cell) -> bool:
    """Whether the one value can be at least the other.

    Rounding keeps order, so intervals that merely touch decide, too.
    """
    low, high = interval(other.printed)[0], interval(best.printed)[1]
    return high > low or best.printed.value == other.printed.value


def _too_low(paper: Paper, best: Cell, other: Cell) -> Finding:
    return finding(
        paper,
        KIND,
        (best.table, *best.row, *best.column, other.table, *other.column),
        (best, other),
        statement=f"The best round of {best.label} (table {best.table}) is at least as good as the "
        f"round that {other.label} (table {other.table}) shows of the same run.",
        published=f"best {best.printed.text}, round {round_of(other)} {other.printed.text}",
        computed=f"at most {float(interval(best.printed)[1]):g} against at least "
        f"{float(interval(other.printed)[0]):g}",
        status="inconsistent",
    )


def _tables(
    paper: Paper, sound: Sequence[tuple[Cell, Cell]], pairs: Sequence[tuple[Cell, Cell]]
) -> Finding:
    best, other = pairs[0][0].table, pairs[0][1].table
    place = f"table {best}" if best == other else f"tables {best} and {other}"
    return finding(
        paper,
        KIND,
        ("tables", best, other),
        (cell for pair in sound for cell in pair),
        statement=f"In {place}, best rounds are at least as good as other rounds of their runs.",
        published=f"{len(pairs)} pairs of a best and another round",
        computed=f"{len(sound)} of {len(pairs)} are in order",
        status="consistent",
    )
