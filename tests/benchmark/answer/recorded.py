"""A recorded baseline as trials by cell."""

import json
from collections.abc import Mapping
from pathlib import Path

from fedrepro.benchmark.spec.model import CellKey, Paper

BASELINES = Path(__file__).parents[3] / "results" / "baselines"


def baseline(paper: str) -> dict:
    return json.loads((BASELINES / f"{paper}-reduced.json").read_text("utf-8"))


def values(paper: Paper) -> Mapping[CellKey, Mapping[int, float]]:
    """By cell and seed."""
    cells = baseline(paper.id)["cells"]
    return {
        cell.key: {s: v for s, v in enumerate(found["trials"]) if v is not None}
        for table in paper.printed
        for cell in table.cells
        if (found := cells.get(f"{table.id}: {cell.label}"))
    }
