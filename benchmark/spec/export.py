"""The published record as plain data: every printed value as text, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .model import Cell, Paper, Table


def export(papers: Iterable[Paper]) -> list[dict[str, Any]]:
    """One mapping a table; published values and spreads are text with all printed digits.

    A cell's `published` is the printed text without its spread ("41.20", "—"), `sd` the spread or
    None. `low` and `high` bound a value that extraction or print leaves uncertain.
    """
    return [_table(table) for paper in papers for table in paper.tables]


def _table(table: Table) -> dict[str, Any]:
    return {
        "paper": table.paper,
        "table": table.id,
        "title": table.title,
        "section": table.section,
        "kind": table.kind,
        "metric": table.metric,
        "unit": table.unit,
        "cells": [_cell(cell) for cell in table.cells],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    printed = cell.printed
    return {
        "row": list(cell.row),
        "column": list(cell.column),
        "published": printed.text,
        "sd": _text(printed.sd),
        "approximate": printed.approximate,
        "low": _text(printed.low),
        "high": _text(printed.high),
        "kind": cell.kind,
        "metric": cell.metric,
        "unit": cell.unit,
        "at": _text(cell.read.at) if cell.experiment else None,
        "trial": _text(cell.trial),
        "note": cell.note,
        "skip": cell.skip,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
