"""An empty file of results for some tables of a paper, to be filled in."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ..spec.model import Cell, Paper
from .binding import alike, external_plan

HEADER = ("table", "row", "column", "metric", "unit", "round", "seed", "value")


def template(paper: Paper, tables: Sequence[str] | None = None, trials: int | None = None) -> str:
    """CSV with a line for each cell that takes results and each trial, without the values.

    tables: ids, None for all. trials: None for as many as the paper's own protocol has. Of cells
    that share results the one stands there that is no single trial.

    Raises `SpecError` for a table that does not exist.
    """
    ids = [table.id for table in paper.tables] if tables is None else tables
    published = paper.profiles.get("paper")
    n = trials or (published.trials if published is not None else 1)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(HEADER)
    for cells in alike(external_plan(paper, ids)):
        cell = next((one for one in cells if one.trial is None), cells[0])
        lines.writerows((*_named(cell), seed, "") for seed in range(n))
    return text.getvalue()


def _named(cell: Cell) -> tuple[str, ...]:
    texts = (
        cell.table, "|".join(cell.row), "|".join(cell.column), cell.metric or "", cell.unit or "",
        str(cell.read.at),
    )  # fmt: skip
    # A spreadsheet would compute what begins so; reading takes the apostrophe away again.
    return tuple(f"'{text}" if text[:1] in ("=", "+", "-", "@") else text for text in texts)
