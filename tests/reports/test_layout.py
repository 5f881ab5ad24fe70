import re
from dataclasses import replace

import pytest

from fedrepro.benchmark.results import CellResult, Departure, Report, TableResult, named
from fedrepro.reports import layout, strips


def test_a_grid_keeps_the_papers_order_and_has_gaps_where_none_is_printed(
    report: Report,
) -> None:
    laid = layout.grid(report.tables[0])
    assert laid.columns == (("15", "T = 40"), ("15", "Best"))
    assert [line.label[0] for line in laid.lines] == ["CP-CFL", "FedAvg"]
    assert laid.lines[1].cells[1] is None
    assert laid.header(0) == [("15", 2)]
    assert laid.header(1) == [("T = 40", 1), ("Best", 1)]


@pytest.mark.parametrize(
    ("id", "title"), [("B.14", "Table B.14"), ("figure-4", "Figure 4"), ("text-3.5", "Text of 3.5")]
)
def test_numbers_of_the_running_text_are_no_table(id: str, title: str) -> None:
    assert named(id) == title


def test_a_departure_is_told_once_with_the_tables_that_it_concerns(report: Report) -> None:
    told = {one.setting: tables for one, tables in layout.gathered(report, "departures")}
    assert told == {"clients.data": "all", "training.rounds": "3"}
    assert [tables for _, tables in layout.gathered(report, "unstated")] == ["all"]


@pytest.mark.parametrize(
    ("published", "places"), [("41.20", 2), ("0.3708", 4), ("≈ 23", 0), ("1,024", 0), ("—", 2)]
)
def test_reproduced_values_are_shown_with_the_published_number_of_decimals(
    cell: CellResult, published: str, places: int
) -> None:
    assert layout.places(replace(cell, published=published)) == places


@pytest.mark.parametrize("places", range(5))
def test_numbers_are_rounded_as_python_rounds_with_a_true_minus_sign(places: int) -> None:
    assert layout.number(None, places) == "—"
    for value in (0.125, -0.125, 2.5, -0.5, 0.05, 1.005, -1e-9, -0.0, 99.9999, 7, 1234567.891):
        rounded = round(value, places) + 0.0
        assert layout.number(value, places) == f"{rounded:.{places}f}".replace("-", "−")
        signed = f"{rounded:+.{places}f}" if rounded else f"{rounded:.{places}f}"
        assert layout.number(value, places, sign=True) == signed.replace("-", "−")


def test_trials_are_told_by_seed_and_a_missing_one_as_missing(report: Report) -> None:
    assert layout.by_seed(report.tables[0].cells[0]) == "0: 80.00 · 1: 82.00 · 2: —"
    assert layout.differences((1.5, -0.25, 0.001)) == "+1.50 −0.25 0.00 "


def test_positions_are_told_as_ranges_of_numbers() -> None:
    assert layout.ranges((0, 1, 2, 5)) == "1–3, 6"
    assert layout.ranges((7, 3, 4)) == "4–5, 8"
    assert layout.ranges(()) == ""


def test_columns_that_print_other_data_are_named_with_ours(report: Report) -> None:
    table = report.tables[0]
    one, other, _ = table.cells
    data = tuple(Departure("clients.data", one, "digits", "") for one in ("stl10", "mnist"))
    cells = (
        replace(one, departures=(0,)),
        replace(one, row=other.row, column=("MNIST", "Best"), departures=(1,)),
    )
    named = layout.grid(replace(table, cells=cells, departures=data))
    assert named.columns == (("15 (here digits)", "T = 40"), ("MNIST (here digits)", "Best"))
    alike = replace(table, cells=cells, departures=(data[0], data[0]))
    assert layout.grid(alike).columns == (("15", "T = 40"), ("MNIST", "Best"))


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
    assert strips.dots(table.cells[1], strips.scales(table)) == ""  # without trials


def test_an_approximate_print_is_a_number_and_a_dash_is_none(cell: CellResult) -> None:
    printed = [
        strips.printed_value(replace(cell, published=text)) for text in ("≈ 23", "1,024", "—")
    ]
    assert printed == [23.0, 1024.0, None]
