"""Every cell as one line of CSV, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from benchmark.files import write_whole
from benchmark.results import CellResult, Report, TableResult

FILE = "report.csv"
COLUMNS = (
    "paper", "profile", "table", "row", "column", "metric", "unit", "published", "published_sd",
    "mean", "sd", "low_95", "high_95", "trials", "difference", "margin", "verdict", "reason",
)  # fmt: skip


def write(reports: Sequence[Report], path: Path) -> None:
    """Writes the cells of one paper or several to `path`."""
    write_whole(path, render(reports).encode())


def render(reports: Sequence[Report]) -> str:
    """A header and one line a cell; parts of a label are joined by `|`, trials by spaces."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for report in reports:
        for table in report.tables:
            for cell in table.cells:
                lines.writerow((report.paper, report.profile, *_line(table, cell)))
    return text.getvalue()


def _line(table: TableResult, cell: CellResult) -> tuple[object, ...]:
    low, high = cell.interval or (None, None)
    trials = " ".join("" if value is None else f"{value:.6g}" for value in cell.trials)
    return (
        table.id, "|".join(cell.row), "|".join(cell.column), cell.metric, cell.unit,
        cell.published, cell.published_sd, cell.mean, cell.sd, low, high, trials,
        cell.verdict.difference, cell.margin, cell.verdict.word, cell.verdict.reason,
    )  # fmt: skip
