import re
from dataclasses import replace
from pathlib import Path

import pytest

from fedrepro.benchmark.results import CellResult, Report, TableResult
from fedrepro.reports import strips


@pytest.fixture
def table(report: Report) -> TableResult:
    return report.tables[0]


@pytest.fixture
def cell(table: TableResult) -> CellResult:
    return table.cells[0]


def places(drawn: str, name: str) -> list[float]:
    path = re.search(rf'class="{name}" d="([^"]*)"', drawn)
    assert path is not None
    return [float(x) for x in re.findall(r"[MH](-?[\d.]+)", path[1])]


def test_cells_of_one_metric_share_an_axis(table: TableResult, cell: CellResult) -> None:
    other = replace(cell, column=("15", "T = 80"), trials=(10.0, 90.0), interval=(0.0, 100.0))
    scales = strips.scales(replace(table, cells=(cell, other)))
    assert list(scales.values()) == [strips.Scale(0.0, 100.0)]
    near, far = (places(strips.dots(one, scales), "dot") for one in (cell, other))
    assert far[0] < near[0] < near[1] < far[1]


def test_a_drawing_holds_each_trial_the_interval_and_the_print(
    table: TableResult, cell: CellResult
) -> None:
    drawn = strips.dots(cell, strips.scales(table))
    low, high = places(drawn, "bar")
    first, second = places(drawn, "dot")
    (tick,) = places(drawn, "tick")
    assert tick < low < first < second < high
    assert (first + second) / 2 == pytest.approx((low + high) / 2, abs=0.1)


def test_however_many_dots_leave_their_interval_in_sight() -> None:
    style = (Path(strips.__file__).parent / "templates" / "report.css").read_text("utf-8")
    bar, dot = (
        float(re.search(rf"^svg{one} \{{[^}}]*stroke-width: ([\d.]+)", style, re.MULTILINE)[1])  # type: ignore[index]
        for one in (r"\.dots \.bar", r" \.dot")
    )
    assert 2 * dot < bar < strips.HEIGHT  # it stands out above and below a row of dots


def test_a_cell_without_trials_draws_nothing(table: TableResult) -> None:
    assert strips.dots(table.cells[1], strips.scales(table)) == ""


def test_an_approximate_print_is_a_number_and_a_dash_is_none(cell: CellResult) -> None:
    printed = [
        strips.printed_value(replace(cell, published=text)) for text in ("≈ 23", "1,024", "—")
    ]
    assert printed == [23.0, 1024.0, None]
