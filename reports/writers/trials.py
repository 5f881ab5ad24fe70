"""Every trial of every cell as one line of CSV: the long file that data frames and plots want."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ...benchmark.results import Report
from .csv import escape

FILE = "report.trials.csv"
COLUMNS = (
    "paper", "profile", "table", "row", "column", "metric", "unit", "seed", "value", "edited_files",
)  # fmt: skip


def render(reports: Sequence[Report]) -> str:
    """A header and one line for each cell and seed that has a value, in the unit of the cell.

    edited_files: as in `fedrepro.reports.writers.csv`.
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for report in reports:
        for table in report.tables:
            for cell in table.cells:
                labels = ("|".join(cell.row), "|".join(cell.column))
                names = (report.paper, report.profile, table.id, *labels, cell.metric, cell.unit)
                named = [escape(name) for name in names]
                lines.writerows(
                    (*named, seed, value, len(report.edited)) for seed, value in report.seeded(cell)
                )
    return text.getvalue()
