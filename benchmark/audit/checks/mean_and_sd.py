"""Can the printed mean and standard deviation come from the printed trials, and with which ddof?

Rows are compared one by one. Then one kind of standard deviation is sought that fits all rows of a
table, and of the paper: ddof 0 of a population, or ddof 1 of a sample.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from ...claims.printed import ExactRange
from ...spec.model import Cell, Paper
from ..findings import Finding, finding
from ..identity import grouped, numbers
from ..rounding import DDOFS, can_meet, interval, mean_of, places_of, sd_fits, squares_of

KIND = "mean-and-sd"


@dataclass(frozen=True)
class PrintedRow:
    """Trials as printed, and the cell that prints their mean and spread."""

    trials: tuple[Cell, ...]
    result: Cell

    @cached_property
    def mean(self) -> ExactRange:
        return mean_of([interval(cell.printed) for cell in self.trials])

    @cached_property
    def squares(self) -> ExactRange:
        return squares_of([interval(cell.printed) for cell in self.trials])

    @cached_property
    def fits(self) -> tuple[int, ...]:
        """The ddofs with which the printed spread can be that of the trials."""
        sd = self.result.printed.sd
        assert sd is not None
        return tuple(d for d in DDOFS if sd_fits(self.squares, len(self.trials) - d, sd))

    @cached_property
    def mean_fits(self) -> bool:
        return can_meet(self.mean, interval(self.result.printed))


def check(paper: Paper) -> Iterator[Finding]:
    """A finding for every row that does not recompute, each table, and the paper."""
    by_table = grouped(rows(paper), lambda row: row.result.table)
    for table, found in by_table.items():
        yield from (_row(row) for row in found if not (row.mean_fits and row.fits))
        ddof = paper.table(table).sd.ddof
        said = "" if ddof is None else f" The spec takes them for ddof {ddof}."
        means = sum(row.mean_fits for row in found)
        yield finding(
            (KIND, table),
            (row.result for row in found),
            statement="The printed means and standard deviations follow from the printed trials, "
            f"with one kind of standard deviation throughout.{said}",
            published=f"{len(found)} rows of trials with mean and standard deviation",
            computed=f"{means} of {len(found)} means recompute; {_counts(found)}",
            status="consistent" if _common(found) else "undecidable",
        )
    if len(by_table) > 1:
        every = [row for found in by_table.values() for row in found]
        whole, kind = _common(every), "one kind of standard deviation"
        if len(whole) == 1:
            kind = f"that of a {('population', 'sample')[whole[0]]} (ddof {whole[0]})"
        yield finding(
            (KIND, "all"),
            (row.result for row in every),
            statement=f"All tables print {kind}.",
            published=f"{len(every)} rows in {len(by_table)} tables",
            computed=_counts(every),
            status="consistent" if whole else "undecidable",
        )


def rows(paper: Paper) -> Iterator[PrintedRow]:
    """Every printed mean with spread whose single trials the same table prints."""
    groups = grouped(numbers(paper), lambda one: (one.cell.table, one.quantity))
    for alike in groups.values():
        results = [one.cell for one in alike if one.cell.trial is None and one.has_spread]
        trials = tuple(one.cell for one in alike if one.cell.trial is not None)
        if len(results) == 1 and len({cell.trial for cell in trials}) == len(trials) >= 2:
            yield PrintedRow(trials, results[0])


def _row(row: PrintedRow) -> Finding:
    cell, n = row.result, len(row.trials)
    places = places_of(cell.printed) + 2
    low, high = (f"{float(end):,.{places}f}" for end in row.mean)
    spreads = (
        f"SD with ddof {d} "
        + " to ".join(f"{sqrt(squares / (n - d)):.4f}" for squares in row.squares)
        for d in DDOFS
    )
    return finding(
        (KIND, cell.table, *cell.row, *cell.column),
        (cell, *row.trials),
        statement=f"Table {cell.table}, {' · '.join(cell.row)}: mean and standard deviation are "
        f"those of the {n} printed trials. No values that print like these trials give the "
        f"{'standard deviation' if row.mean_fits else 'mean'}.",
        published=f"{cell.printed}; trials {', '.join(one.printed.text for one in row.trials)}",
        computed=f"mean {low} to {high}, {', '.join(spreads)}",
        status="inconsistent",
    )


def _common(found: Sequence[PrintedRow]) -> list[int]:
    sound = [row for row in found if row.mean_fits and row.fits]
    return [ddof for ddof in DDOFS if sound and all(ddof in row.fits for row in sound)]


def _counts(found: Sequence[PrintedRow]) -> str:
    counts = [f"ddof {d} fits {sum(d in row.fits for row in found)}" for d in DDOFS]
    return f"{' and '.join(counts)} of {len(found)} rows"
