"""Judged results as long rows: one for each cell, trial or claim, by the names of its columns."""

from collections.abc import Iterable, Iterator
from typing import Any

from ..benchmark.results import CellResult, Report, TableResult
from ..benchmark.spec.settings import PRECISION
from .strips import printed_value

LongRow = dict[str, Any]
OF_TRIALS = (
    "paper", "profile", "table", "row", "column", "metric", "unit", "seed", "value",
    "edited_files", "departures", "series", "readings",
)  # fmt: skip


def cells(report: Report, tables: Iterable[TableResult]) -> Iterator[LongRow]:
    """A row for each cell of some tables of a report, with its verdict, in its table's unit."""
    for table in tables:
        for cell in table.cells:
            low, high = cell.interval or (None, None)
            yield _place(report, table, cell) | {
                "kind": cell.kind,
                "printed": cell.published,
                "published": printed_value(cell),
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


def trials(report: Report) -> Iterator[LongRow]:
    """A row for each cell and seed that has a value, and how it was made: files edited since,
    deviations from the paper, and the series. Seeds of one series are no pairs of another's. Where
    the paper says nothing, the interpretations and precision that were taken are named."""
    for table in report.tables:
        precision = [one.here for one in table.unstated if one.setting == PRECISION]
        taken = ", ".join([*report.readings, *precision])
        made = {"edited_files": len(report.edited), "series": report.series, "readings": taken}
        for cell in table.cells:
            seeds = range(len(cell.trials)) if report.external is None else report.external.seeds
            for seed, value in zip(seeds, cell.trials, strict=False):
                own = {"seed": seed, "value": value, "departures": len(cell.departures)}
                if value is not None:
                    yield _place(report, table, cell) | own | made


def claims(report: Report, tables: Iterable[TableResult]) -> Iterator[LongRow]:
    """A row for each claim, or control, of some tables; differences are signed as it is stated."""
    for table in tables:
        for claim in table.claims:
            answer = claim.answer
            ours, ratio = answer.ours, answer.ratio
            yield {
                "paper": report.paper,
                "profile": report.profile,
                "table": table.id,
                "claim": claim.id,
                "says": claim.says,
                "holds": claim.holds,
                "headline": claim.headline is not None,
                "printed": claim.support,
                "word": claim.word,
                "reason": claim.reason,
                "comparisons": answer.comparisons,
                "left_out": answer.left_out,
                "shown": answer.shown,
                "opposite": answer.opposite,
                "difference": ours and ours.mean,
                "low_95": ours and ours.low,
                "high_95": ours and ours.high,
                "printed_difference": answer.printed,
                "ratio": ratio and ratio.mean,
                "ratio_low": ratio and ratio.low,
                "ratio_high": ratio and ratio.high,
                "trials": answer.trials,
                "trials_as_stated": answer.trials_ahead,
            }


def _place(report: Report, table: TableResult, cell: CellResult) -> LongRow:
    return {
        "paper": report.paper,
        "profile": report.profile,
        "table": table.id,
        "row": "|".join(cell.row),
        "column": "|".join(cell.column),
        "metric": cell.metric,
        "unit": cell.unit,
    }
