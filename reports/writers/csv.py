"""Every cell as one line of CSV, for spreadsheets and data frames."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...benchmark.printable import printable
from ...benchmark.results import Report
from .. import rows, scoreboard

FILE = "report.csv"
COLUMNS = (
    "paper", "profile", "table", "row", "column", "metric", "unit", "published", "published_sd",
    "mean", "sd", "low_95", "high_95", "trials", "difference", "margin", "verdict", "reason",
    "edited_files",
)  # fmt: skip
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20].|[\t\r\n]", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?%?")


def render(reports: Sequence[Report]) -> str:
    """A header and one line a cell, controls last; `|` joins parts of a label, a space trials.
    `edited_files`: how many files were edited since the trials were made; 0 for today's code."""
    lines = []
    for report in reports:
        tables = (*report.tables, *report.controls)
        for row, cell in zip(rows.cells(report, tables), scoreboard.cells(tables), strict=True):
            trials = " ".join("" if value is None else f"{value:.6g}" for value in cell.trials)
            printed = {"published": cell.published, "published_sd": cell.published_sd}
            lines.append(row | printed | {"trials": trials, "edited_files": len(report.edited)})
    return table(COLUMNS, lines)


def table(columns: Sequence[str], lines: Iterable[rows.LongRow]) -> str:
    """A header and lines, of which these columns are written; `trials` are numbers of our own."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        [line[name] if name == "trials" else escape(line[name]) for name in columns]
        for line in lines
    )
    return text.getvalue()


def escape(value: Any) -> Any:
    """Text that no spreadsheet computes: an apostrophe stands before a formula; numbers stay."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
