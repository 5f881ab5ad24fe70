from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedrepro.benchmark.judging.figure_data import panels
from fedrepro.benchmark.results import CellResult, Series
from fedrepro.benchmark.spec.model import Figure
from fedrepro.reports.figures import svg

FIGURE = Figure("scatter", x="variance", y="mean")
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
    assert found["Q"].lines == {"A": [([0.01], [90.0]), ([0.02], [80.0])], "B": [([0.03], [70.0])]}
    assert found["D"].lines == {"A": [([0.05], [60.0]), ([0.06], [50.0])]}
    assert (found["Q"].x_label, found["Q"].y_label) == ("variance", "mean %")


def test_rows_without_a_finished_trial_are_left_out() -> None:
    empty = cell("C", ("Q", "mean"), None, None), cell("C", ("Q", "variance"), None, None)
    assert drawn([*CELLS, *empty])["Q"].lines.keys() == {"A", "B"}


def test_a_panel_of_scaled_runs_says_so() -> None:
    scaled = [replace(one, departures=(0,)) for one in CELLS if one.column[0] == "Q"]
    assert drawn([*scaled, *CELLS[4:]]).keys() == {"Q (reduced)", "D"}


def pictures(**of_run: dict[str, Any]) -> tuple[Series, ...]:
    drawings: Any = [
        SimpleNamespace(cell=SimpleNamespace(parts=(name,)), config=name, departures=())
        for name in of_run
    ]
    evidence: Any = SimpleNamespace(arrays=lambda config: of_run[config])
    return panels(Figure("pictures"), drawings, (), evidence, None)


def test_a_picture_that_all_runs_share_stands_once_and_others_under_their_run() -> None:
    same, other = np.full((2, 3, 1), 7, np.uint8), np.zeros((2, 3, 3), np.uint8)
    (series,) = pictures(
        A={"picture.image": same, "picture.map": same, "xy": np.zeros(3)},
        B={"picture.image": same, "picture.map": other},
    )
    assert series.pictures == {
        "image": same.tolist(),
        "map: A": same.tolist(),
        "map: B": other.tolist(),
    }
    assert pictures(A={"xy": np.zeros(3)}) == ()


def test_a_grid_has_every_picture_under_its_name() -> None:
    named = {f"name {i}": [[[i], [9]], [[8], [7]]] for i in range(6)}
    drawing = svg(Series("pictures", "", "", "", pictures=named)).decode()
    assert drawing.count("<image ") == 6
    assert all(f">{name}<" in drawing for name in named)
