"""Every cell as one line of CSV, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from ...benchmark.printable import printable
from ...benchmark.results import CellResult, Report, TableResult

FILE = "report.csv"
COLUMNS = (
    "paper", "profile", "table", "row", "column", "metric", "unit", "published", "published_sd",
    "mean", "sd", "low_95", "high_95", "trials", "difference", "margin", "verdict", "reason",
    "edited_files",
)  # fmt: skip
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20].|[\t\r\n]", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?%?")


def render(reports: Sequence[Report]) -> str:
    """A header and one line a cell; parts of a label are joined by `|`, trials by spaces.

    edited_files: how many files were edited since the trials were made; 0 for today's code.
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for report in reports:
        for table in report.tables:
            lines.writerows(_line(report, table, cell) for cell in table.cells)
    return text.getvalue()


def escape(text: str | None) -> str | None:
    """Text that a spreadsheet shows and never computes; a number stays one.

    An apostrophe stands before what would be a formula.
    """
    if text is None:
        return None
    text = printable(text)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _line(report: Report, table: TableResult, cell: CellResult) -> tuple[object, ...]:
    low, high = cell.interval or (None, None)
    trials = " ".join("" if value is None else f"{value:.6g}" for value in cell.trials)
    names = (report.paper, report.profile, table.id, "|".join(cell.row), "|".join(cell.column))
    printed = (cell.metric, cell.unit, cell.published, cell.published_sd)
    return (
        *map(escape, (*names, *printed)),
        cell.mean, cell.sd, low, high, trials, cell.verdict.difference, cell.margin,
        escape(cell.verdict.word), escape(cell.verdict.reason), len(report.edited),
    )  # fmt: skip
