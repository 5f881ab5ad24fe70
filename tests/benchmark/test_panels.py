"""Scatter plots: from judged cells to marks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmark.panels import panels
from benchmark.results import CellResult, Series
from benchmark.spec.types import Figure
from reports.figures import svg

FIGURE = Figure("scatter", {"x": "variance", "y": "mean"}, ())
EVIDENCE: Any = None  # a scatter plot reads judged cells alone


def cell(row: str, column: tuple[str, ...], *trials: float | None, **more: Any) -> CellResult:
    blank: dict[str, Any] = dict.fromkeys(
        [f for f in CellResult.__dataclass_fields__ if f not in ("note", "departures", "margin")]
    )
    return CellResult(**{**blank, "row": (row,), "column": column, "trials": trials, **more})


CELLS = [
    cell("A", ("Q", "mean"), 90.0, 80.0, unit="%"),
    cell("A", ("Q", "variance"), 0.01, 0.02),
    cell("B", ("Q", "mean"), 70.0, None, unit="%"),
    cell("B", ("Q", "variance"), 0.03, 0.04),
    cell("A", ("D", "mean"), 60.0, 50.0, unit="%"),
    cell("A", ("D", "variance"), 0.05, 0.06),
]


def drawn(cells: list[CellResult]) -> dict[str, Series]:
    found = panels(FIGURE, (), cells, EVIDENCE, "%")
    return {series.title: series for series in found}


def test_each_row_is_a_point_in_every_trial_that_has_both_values() -> None:
    found = drawn(CELLS)
    assert found.keys() == {"Q", "D"}
    assert found["Q"].lines == {
        "A": [([0.01], [90.0]), ([0.02], [80.0])],
        "B": [([0.03], [70.0])],
    }
    assert found["D"].lines == {"A": [([0.05], [60.0]), ([0.06], [50.0])]}
    assert (found["Q"].x_label, found["Q"].y_label) == ("variance", "mean %")


def test_rows_without_a_finished_trial_are_left_out() -> None:
    empty = cell("C", ("Q", "mean"), None, None), cell("C", ("Q", "variance"), None, None)
    assert drawn([*CELLS, *empty])["Q"].lines.keys() == {"A", "B"}


def test_a_panel_of_scaled_runs_says_so() -> None:
    scaled = [replace(one, departures=(0,)) for one in CELLS if one.column[0] == "Q"]
    assert drawn([*scaled, *CELLS[4:]]).keys() == {"Q (scaled)", "D"}


@pytest.mark.parametrize("rows", [1, 2, 20])
def test_every_row_is_named_beside_its_marks(rows: int) -> None:
    lines = {f"method {i}": [([0.01 * i], [90.0 - i])] for i in range(rows)}
    series = Series("scatter", "Q", "variance", "mean", lines=lines)
    drawing = svg(series)
    assert drawing == svg(series)
    assert all(f">{name}<" in drawing for name in lines)
