"""The published record as plain data: every printed value as text, ready for JSON."""

from collections.abc import Iterable
from typing import Any

from .model import Cell, Paper


def export(papers: Iterable[Paper]) -> list[dict[str, Any]]:
    """One mapping a table; published values and spreads are text with all printed digits.

    A cell's `published` is the printed text without its spread ("41.20", "—"), `sd` the spread or
    None. `low` and `high` bound a value that extraction or print leaves uncertain.
    """
    return [
        {
            "paper": table.paper,
            "table": table.id,
            **{one: getattr(table, one) for one in ("title", "section", "kind", "metric", "unit")},
            "cells": [_cell(cell) for cell in table.cells],
        }
        for paper in papers
        for table in paper.printed
    ]


def _cell(cell: Cell) -> dict[str, Any]:
    printed, at = cell.printed, cell.read if cell.experiment else None
    texts = {
        **{name: getattr(printed, name) for name in ("sd", "low", "high")},
        **{"at": at, "trial": cell.trial},
    }
    return {
        "row": list(cell.row),
        "column": list(cell.column),
        "published": printed.text,
        "approximate": printed.approximate,
        **{name: None if value is None else str(value) for name, value in texts.items()},
        **{name: getattr(cell, name) for name in ("kind", "metric", "unit", "note", "skip")},
    }
