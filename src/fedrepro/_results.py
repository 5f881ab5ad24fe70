"""A judged paper as data frames: long, a row a cell, a trial or a claim."""

import html
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.results import Report
from fedrepro.reports import rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Results:
    """A judged paper: `cells`, `trials`, `claims` and `controls` as data frames; `report` has all.
    Values are in the unit of their table (percent, or plain numbers)."""

    report: Report

    @cached_property
    def cells(self) -> "pd.DataFrame":
        """A row for each printed number, with ours and the verdict."""
        return _frame(rows.cells(self.report, self.report.tables))

    @cached_property
    def trials(self) -> "pd.DataFrame":
        """A row for each cell and seed that has a value."""
        return _frame(rows.trials(self.report), rows.OF_TRIALS)

    @cached_property
    def claims(self) -> "pd.DataFrame":
        """A row for each claim of the text; differences are signed as it is stated."""
        return _frame(rows.claims(self.report, self.report.tables))

    @cached_property
    def controls(self) -> "pd.DataFrame":
        """A row for each positive control, with the columns of `claims`."""
        return _frame(rows.claims(self.report, self.report.controls))

    @cached_property
    def picture(self) -> "pd.DataFrame":
        """A row for each cell that is printed and measured: both, with our 95 % interval."""
        cells = self.cells
        return cells[cells["published"].notna() & cells["mean"].notna()][
            ["paper", "table", "row", "column", "published", "mean", "low_95", "high_95"]
        ]

    def plot(self, table: str, form: str = "svg") -> bytes:
        """A table's picture, published against here, as svg, png or pdf. Raises `KeyError` for a
        table that is not in the report, `FedreproError` where there is nothing to draw."""
        from fedrepro.reports.answer_pictures import printed_against_ours

        tables = {one.id: one for one in (*self.report.tables, *self.report.controls)}
        if not (found := printed_against_ours(tables[table], form)):
            raise FedreproError(f"nothing of '{table}' can be drawn: {tables[table].reason}")
        return found

    @property
    def answer(self) -> str:
        """What was found, on all data."""
        return self.report.first.answer

    def __repr__(self) -> str:
        external = "" if self.report.external is None else f" {self.report.external.statement}"
        return f"{self.report.paper}, profile {self.report.profile}: {self.answer}{external}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer, and the claims in words."""
        shown = self.claims[["table", "says", "word"]] if len(self.claims) else self.claims
        table = shown.to_html(index=False, max_rows=20, escape=True)
        return f"<p>{html.escape(repr(self))}</p>{table}"


def _frame(found: Any, columns: Any = None) -> "pd.DataFrame":
    import pandas as pd  # here, because importing fedrepro takes no seconds

    return pd.DataFrame(found, columns=columns)
