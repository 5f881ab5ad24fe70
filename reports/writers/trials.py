"""Every trial of every cell as one line of CSV: the long file that data frames and plots want."""

from collections.abc import Sequence

from ...benchmark.results import Report
from .. import rows
from .csv import table

FILE = "report.trials.csv"


def render(reports: Sequence[Report]) -> str:
    """A header and one line for each cell and seed that has a value, in the unit of the cell."""
    return table(rows.OF_TRIALS, (row for one in reports for row in rows.trials(one)))
