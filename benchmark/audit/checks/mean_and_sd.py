"""Can the printed mean and standard deviation come from the printed trials, and with which ddof?

Rows are compared one by one; a table, and then the paper, is asked for the one kind of standard
deviation (ddof 0 of a population, ddof 1 of a sample) that fits all of its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

from ...spec.model import Cell, Paper
from ..findings import Finding, finding
from ..identity import numbers
from ..rounding import (
    Interval,
    can_meet,
    interval,
    mean_of,
    places_of,
    sd_fits,
    show,
    squares_of,
)

KIND = "mean-and-sd"
DDOFS = (0, 1)


@dataclass(frozen=True)
class Row:
    """Trials as printed, and the cell that prints their mean and spread."""

    trials: tuple[Cell, ...]
    result: Cell

    @cached_property
    def fits(self) -> tuple[int, ...]:
        """The ddofs with which the printed spread can be that of the trials."""
        sd = self.result.printed.sd
        assert sd is not None
        return tuple(d for d in DDOFS if sd_fits(self.squares, len(self.trials) - d, sd))

    @cached_property
    def squares(self) -> Interval:
        """The range of the trials' sum of squared deviations."""
        return squares_of([interval(cell.printed) for cell in self.trials])

    @cached_property
    def mean_fits(self) -> bool:
        """Whether the printed mean can be that of the trials."""
        values = [interval(cell.printed) for cell in self.trials]
        return can_meet(mean_of(values), interval(self.result.printed))


def check(paper: Paper) -> Iterator[Finding]:
    """A finding for every row that does not recompute, each table, and the paper."""
    by_table: dict[str, list[Row]] = defaultdict(list)
    for row in rows(paper):
        by_table[row.result.table].append(row)
    for found in by_table.values():
        yield from (_row(paper, row) for row in found if not (row.mean_fits and row.fits))
        yield _table(paper, found)
    if len(by_table) > 1:
        yield _all(paper, [row for found in by_table.values() for row in found])


def rows(paper: Paper) -> Iterator[Row]:
    """Every printed mean with spread whose single trials the same table prints."""
    groups: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for one in numbers(paper):
        groups[one.cell.table, one.experiment, one.measure, one.round].append(one.cell)
    for cells in groups.values():
        results = [cell for cell in cells if cell.trial is None and cell.printed.sd is not None]
        trials = tuple(cell for cell in cells if cell.trial is not None)
        if len(results) == 1 and len({cell.trial for cell in trials}) == len(trials) >= 2:
            yield Row(trials, results[0])


def _row(paper: Paper, row: Row) -> Finding:
    printed = row.result.printed
    assert printed.value is not None
    values = [interval(cell.printed) for cell in row.trials]
    places = places_of(printed.value) + 2
    low, high = mean_of(values)
    least, largest = row.squares
    spreads = ", ".join(
        f"SD with ddof {ddof} {_root(least, len(values) - ddof)} to "
        f"{_root(largest, len(values) - ddof)}"
        for ddof in DDOFS
        if len(values) > ddof
    )
    wrong = "mean" if not row.mean_fits else "standard deviation"
    return finding(
        paper,
        KIND,
        (row.result.table, *row.result.row, *row.result.column),
        (row.result, *row.trials),
        statement=f"{_named(row.result)}: mean and standard deviation are those of the "
        f"{len(values)} printed trials. No values that print like these trials give the {wrong}.",
        published=f"{printed}; trials {', '.join(cell.printed.text for cell in row.trials)}",
        computed=f"mean {show(low, places)} to {show(high, places)}, {spreads}",
        status="inconsistent",
    )


def _table(paper: Paper, found: Sequence[Row]) -> Finding:
    declared = paper.table(found[0].result.table).sd.ddof
    said = "" if declared is None else f" The spec takes them for ddof {declared}."
    return finding(
        paper,
        KIND,
        (found[0].result.table,),
        (row.result for row in found),
        statement="The printed means and standard deviations follow from the printed trials, with "
        f"one kind of standard deviation throughout.{said}",
        published=f"{len(found)} rows of trials with mean and standard deviation",
        computed=f"{sum(row.mean_fits for row in found)} of {len(found)} means recompute; "
        + _counts(found),
        status="consistent" if _common(found) else "undecidable",
    )


def _all(paper: Paper, found: Sequence[Row]) -> Finding:
    whole = _common(found)
    kind = "one kind of standard deviation"
    if len(whole) == 1:
        kind = f"that of a {'population' if whole[0] == 0 else 'sample'} (ddof {whole[0]})"
    return finding(
        paper,
        KIND,
        ("all",),
        (row.result for row in found),
        statement=f"All tables print {kind}.",
        published=f"{len(found)} rows in {len({row.result.table for row in found})} tables",
        computed=_counts(found),
        status="consistent" if whole else "undecidable",
    )


def _common(found: Sequence[Row]) -> list[int]:
    """The ddofs that fit all rows that recompute."""
    sound = [row for row in found if row.mean_fits and row.fits]
    return [ddof for ddof in DDOFS if sound and all(ddof in row.fits for row in sound)]


def _counts(found: Sequence[Row]) -> str:
    counts = [f"ddof {d} fits {sum(d in row.fits for row in found)}" for d in DDOFS]
    return f"{' and '.join(counts)} of {len(found)} rows"


def _named(cell: Cell) -> str:
    return f"Table {cell.table}, {' · '.join(cell.row)}"


def _root(squares: Fraction, divisor: int) -> str:
    return f"{sqrt(squares / divisor):.4f}"
