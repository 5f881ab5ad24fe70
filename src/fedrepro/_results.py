"""A judged paper as data frames: long, a row a cell, a trial or a claim."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrepro.benchmark.results import CellResult, ClaimResult, Report, TableResult
from fedrepro.benchmark.spec.printed import Printed

if TYPE_CHECKING:
    import pandas as pd

_CLAIMS_SHOWN = 20


@dataclass(frozen=True, repr=False)
class Results:
    """A judged paper: `cells`, `trials` and `claims` as data frames, and all of it as `report`.

    Values are in the unit of their table (percent, or plain numbers).
    """

    report: Report

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A row for each printed number, with ours and the verdict."""
        return _frame(self._of_cells(_cell_row))

    @cached_property
    def trials(self) -> pd.DataFrame:
        """A row for each cell and seed that has a value."""
        rows = [
            {**place, "metric": cell.metric, "unit": cell.unit, "seed": seed, "value": value}
            for place, cell in self._cells()
            for seed, value in self.report.seeded(cell)
        ]
        names = ("paper", "profile", "table", "row", "column", "metric", "unit", "seed", "value")
        return _frame(rows, names)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """A row for each comparison that the text makes; numbers are of its decisive one."""
        rows = [
            {**self._place(table), **_claim_row(claim)}
            for table in self.report.tables
            for claim in table.claims
        ]
        return _frame(rows)

    @cached_property
    def picture(self) -> pd.DataFrame:
        """A row for each cell that is printed and measured: both, with our 95 % interval."""
        cells = self.cells
        return cells[cells["published"].notna() & cells["mean"].notna()][
            ["paper", "table", "row", "column", "published", "mean", "low_95", "high_95"]
        ]

    def plot(self, table: str, form: str = "svg") -> bytes:
        """A table's picture, published against here, as svg, png or pdf.

        Raises `KeyError` for a table that is not in the report.
        """
        from fedrepro.reports.answer_pictures import printed_against_ours

        by_id = {one.id: one for one in self.report.tables}
        return printed_against_ours(by_id[table], form)

    @property
    def answer(self) -> str:
        """What was found, in one sentence."""
        return self.report.first.sentence

    def write(self, out: Path | str) -> Path:
        """Writes the report in every format to a folder, and gives the path of its HTML.

        Raises `FedreproError` if the folder cannot be written.
        """
        from fedrepro.reports.publish import write_report

        write_report([self.report], out)
        return Path(out) / "report.html"

    def __repr__(self) -> str:
        external = "" if self.report.external is None else f" {self.report.external.statement}"
        return f"{self.report.paper}, profile {self.report.profile}: {self.answer}{external}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer, and the claims in words."""
        shown = self.claims[["table", "says", "word"]] if len(self.claims) else self.claims
        table = shown.to_html(index=False, max_rows=_CLAIMS_SHOWN, escape=True)
        return f"<p>{html.escape(repr(self))}</p>{table}"

    def _place(self, table: TableResult) -> dict[str, Any]:
        return {"paper": self.report.paper, "profile": self.report.profile, "table": table.id}

    def _cells(self) -> Iterator[tuple[dict[str, Any], CellResult]]:
        for table in self.report.tables:
            for cell in table.cells:
                place = {"row": "|".join(cell.row), "column": "|".join(cell.column)}
                yield {**self._place(table), **place}, cell

    def _of_cells(self, row: Any) -> list[dict[str, Any]]:
        return [{**place, **row(cell)} for place, cell in self._cells()]


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...] | None = None) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=columns)


def _cell_row(cell: CellResult) -> dict[str, Any]:
    low, high = cell.interval or (None, None)
    value = Printed.parse(cell.published).value
    return {
        "kind": cell.kind,
        "metric": cell.metric,
        "unit": cell.unit,
        "printed": cell.published,
        "published": None if value is None else float(value),
        "published_sd": None if cell.published_sd is None else float(cell.published_sd),
        "mean": cell.mean,
        "sd": cell.sd,
        "low_95": low,
        "high_95": high,
        "trials": sum(one is not None for one in cell.trials),
        "difference": cell.verdict.difference,
        "margin": cell.margin,
        "verdict": cell.verdict.word,
        "reason": cell.verdict.reason,
    }


def _claim_row(claim: ClaimResult) -> dict[str, Any]:
    answer = claim.answer
    ours, ratio = answer.ours, answer.ratio
    return {
        "claim": claim.id,
        "says": claim.says,
        "holds": claim.holds,
        "headline": claim.headline is not None,
        "printed": claim.support,
        "word": claim.word,
        "reason": claim.reason,
        "comparisons": answer.comparisons,
        "shown": answer.shown,
        "opposite": answer.opposite,
        "difference": None if ours is None else ours.mean,
        "low_95": None if ours is None else ours.low,
        "high_95": None if ours is None else ours.high,
        "printed_difference": answer.printed,
        "ratio": None if ratio is None else ratio.mean,
        "ratio_low": None if ratio is None else ratio.low,
        "ratio_high": None if ratio is None else ratio.high,
        "trials": answer.trials,
        "trials_as_stated": answer.trials_ahead,
    }
