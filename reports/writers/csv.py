"""Every cell as one line of CSV, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.benchmark.results import CellResult, Report, TableResult
from fedrepro.reports.parts import Parts, parts_of

FILE = "report.csv"
PARTS = ("lines",)
COLUMNS = (
    "paper", "profile", "table", "row", "column", "metric", "unit", "published", "published_sd",
    "mean", "sd", "low_95", "high_95", "trials", "difference", "margin", "verdict", "reason",
)  # fmt: skip


def render(reports: Sequence[Report]) -> str:
    """A header and one line a cell; parts of a label are joined by `|`, trials by spaces."""
    return "".join(whole(parts_of(reports, part), ()))


def part(report: Report, name: str) -> str:
    """The lines of one paper."""
    return _lines(
        (report.paper, report.profile, *_line(table, cell))
        for table in report.tables
        for cell in table.cells
    )


def whole(parts: Parts, boards: Sequence[Scoreboard]) -> Iterator[str]:
    """The header and the lines of every paper."""
    yield _lines([COLUMNS])
    yield from parts("lines")


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _line(table: TableResult, cell: CellResult) -> tuple[object, ...]:
    low, high = cell.interval or (None, None)
    trials = " ".join("" if value is None else f"{value:.6g}" for value in cell.trials)
    return (
        table.id, "|".join(cell.row), "|".join(cell.column), cell.metric, cell.unit,
        cell.published, cell.published_sd, cell.mean, cell.sd, low, high, trials,
        cell.verdict.difference, cell.margin, cell.verdict.word, cell.verdict.reason,
    )  # fmt: skip
