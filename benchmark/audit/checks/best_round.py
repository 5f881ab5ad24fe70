"""Is the best round of a run at least as good as every other round that is printed of it?"""

from collections.abc import Iterator

from ...metrics import MetricRange, metric
from ...spec.model import Cell, Paper
from ..findings import Finding, finding
from ..identity import grouped, numbers, tables_of

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
        sound = list[Cell]()
        for upper, lower in pairs:
            best, other = upper.cell, lower.cell
            is_less = (metric(best.metric) or MetricRange()).lower_is_better
            above, below = (other, best) if is_less else (best, other)
            # Rounding keeps order, so intervals that merely touch decide, too.
            if above.bounds[1] > below.bounds[0] or best.printed.value == other.printed.value:
                sound += (best, other)
                continue
            yield finding(
                (KIND, best.table, *best.row, *best.column, other.table, *other.column),
                (best, other),
                statement=f"The best round of {best.label} (table {best.table}) is at least as "
                f"good as the round that {other.label} (table {other.table}) shows of the same "
                "run.",
                published=f"best {best.printed.text}, round {lower.round} {other.printed.text}",
                computed=f"at most {float(above.bounds[1]):g} against at least "
                f"{float(below.bounds[0]):g}",
                status="inconsistent",
            )
        first, second = tables
        place = f"table {first}" if first == second else f"tables {first} and {second}"
        yield finding(
            (KIND, "tables", *tables),
            sound,
            statement=f"In {place}, best rounds are at least as good as other rounds of their "
            "runs.",
            published=f"{len(pairs)} pairs of a best and another round",
            computed=f"{len(sound) // 2} of {len(pairs)} are in order",
            status="consistent",
        )
