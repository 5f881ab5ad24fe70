"""Is the best round of a run at least as good as every other round that is printed of it?"""

from collections.abc import Iterator, Sequence

from ...spec.model import Paper
from ..findings import Finding, finding
from ..identity import ComparableValue, Pair, grouped, numbers, tables_of

KIND = "best-round"


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for every best value that is too low, and one for each pair of tables."""
    runs = grouped(
        numbers(paper), lambda one: (one.experiment, one.measure, one.cell.trial, one.has_spread)
    )
    found = [
        (best, other)
        for shown in runs.values()
        for best in shown
        for other in shown
        if best.round == "best" != other.round
    ]
    for tables, pairs in grouped(found, tables_of).items():
        # Rounding keeps order, so intervals that merely touch decide, too.
        sound = [
            (best, other)
            for best, other in pairs
            if best.cell.bounds[1] > other.cell.bounds[0]
            or best.cell.printed.value == other.cell.printed.value
        ]
        yield from (_too_low(*pair) for pair in pairs if pair not in sound)
        yield _tables(tables, sound, len(pairs))


def _too_low(upper: ComparableValue, lower: ComparableValue) -> Finding:
    best, other = upper.cell, lower.cell
    return finding(
        (KIND, best.table, *best.row, *best.column, other.table, *other.column),
        (best, other),
        statement=f"The best round of {best.label} (table {best.table}) is at least as good as the "
        f"round that {other.label} (table {other.table}) shows of the same run.",
        published=f"best {best.printed.text}, round {lower.round} {other.printed.text}",
        computed=f"at most {float(best.bounds[1]):g} against at least {float(other.bounds[0]):g}",
        status="inconsistent",
    )


def _tables(tables: tuple[str, str], sound: Sequence[Pair], of: int) -> Finding:
    best, other = tables
    place = f"table {best}" if best == other else f"tables {best} and {other}"
    return finding(
        (KIND, "tables", best, other),
        (one.cell for pair in sound for one in pair),
        statement=f"In {place}, best rounds are at least as good as other rounds of their runs.",
        published=f"{of} pairs of a best and another round",
        computed=f"{len(sound)} of {of} are in order",
        status="consistent",
    )
