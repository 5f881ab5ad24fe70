import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from fedrepro.benchmark.results import Report, Series, TableResult
from fedrepro.reports import answer_pictures, figures
from fedrepro.reports.answer_pictures import claim_ratios, printed_against_ours
from fedrepro.reports.writers import html

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}"


def drawn(series: Series) -> ElementTree.Element:
    return ElementTree.fromstring(figures.svg(series))


def texts(series: Series) -> list[str]:
    return ["".join(one.itertext()) for one in drawn(series).iter(f"{SVG}text")]


def marks(series: Series) -> list[tuple[float, float]]:
    """Where markers stand, in points; without those of the axes, which are lines."""
    root = drawn(series)
    defined = {one.get("id"): str(one.get("d")) for one in root.iter(f"{SVG}path")}
    found = [
        (float(str(one.get("x"))), float(str(one.get("y"))))
        for one in root.iter(f"{SVG}use")
        if "C" in defined[str(one.get(f"{XLINK}href")).removeprefix("#")]  # a circle has curves
    ]
    return found


def test_a_figure_has_the_same_bytes_whatever_was_drawn_before_and_no_date(
    report: Report,
) -> None:
    panels = report.tables[1].panels
    first = [figures.svg(series) for series in panels]
    for series in panels:
        figures.svg(replace(series, x_label="other", y_label="other"))
    assert [figures.svg(series) for series in panels] == first
    assert not [text for text in first if re.search(rb"<dc:date>|20\d\d-\d\d", text)]


def test_rounds_and_clients_are_counted_in_whole_numbers_from_one(report: Report) -> None:
    for series in report.tables[1].panels:
        if series.kind in ("points", "pictures"):  # distances in a map have no unit
            continue
        ticks = [text for text in texts(series) if re.fullmatch(r"[\d.−-]+", text)]
        assert "1" in ticks
        if series.kind != "curves":
            assert not [tick for tick in ticks if "." in tick or "−" in tick]


def test_a_run_of_one_round_is_drawn_as_a_point() -> None:
    alone, line = (
        Series("curves", "", "", "", lines={"A": [(rounds, [5.0, 6.0][: len(rounds)])]})
        for rounds in ([1.0], [1.0, 2.0])
    )
    assert (len(marks(alone)), len(marks(line))) == (1, 0)


def test_a_map_keeps_distances_and_shows_every_point_once() -> None:
    lines = {"one": [([0.0, 4.0], [0.0, 1.0])], "<two>": [([0.0], [-1.0])]}
    (ax, ay), (bx, by), (cx, cy) = marks(Series("points", "a map", "", "", lines=lines))
    assert (bx - ax) / (ay - by) == pytest.approx(4, abs=0.01)  # up is smaller y
    assert cx == ax
    assert cy - ay == pytest.approx(ay - by, abs=0.02)


def test_series_of_equal_colour_are_all_drawn_and_told_apart() -> None:
    many = {f"client {i}": [([float(i)], [float(i)])] for i in range(2 * len(figures.PALETTE))}
    for kind in ("points", "curves"):
        series = Series(kind, "", "", "", lines=many)
        assert len(marks(series)) == len(many)
        assert [mark.name for mark in figures.legend(series)] == list(many)
    looks = {(m.colour, m.shape) for m in figures.legend(Series("scatter", "", "", "", many))}
    assert len(looks) == len(many)


def test_a_page_shows_every_figure_and_says_what_its_colours_mean(report: Report) -> None:
    text = html.render([report])
    drawn = (*map(printed_against_ours, report.tables), claim_ratios(report))
    pictures = len(report.tables[1].panels) + sum(map(bool, drawn))
    assert text.count('<img src="data:image/svg+xml;base64,') == pictures
    for name in ("CP-CFL", "class 0", "model 2"):
        assert re.search(rf'aria-hidden="true">.</span> {name}</li>', text)


@pytest.mark.parametrize("kind", ["curves", "points", "scatter", "pictures"])
@pytest.mark.parametrize("text", ["_hidden", "$x^{2$", "a\x1b[31mb\x00", "<b>&amp;", "字", "x\ny"])
def test_labels_are_text_whatever_they_hold(kind: str, text: str) -> None:
    lines = {text: [([1.0], [1.0])]}
    pictures = {text: [[[0], [255]], [[9], [90]]]}
    series = Series(kind, text, text, text, lines=lines, pictures=pictures)  # type: ignore[arg-type]
    shown = texts(series)
    assert "".join(shown).isprintable()
    if text.isprintable():
        assert text in shown


def columns(report: Report, **changes: Any) -> TableResult:
    """Two methods in two columns of one metric, of which one cell is not printed."""
    cell = report.tables[0].cells[0]
    cells = tuple(
        replace(cell, row=(row,), column=(column,), published=printed, run=run)
        for row, column, printed, run in (
            ("_hidden", "few", "80", "a"), ("FedAvg", "few", "70", "b"),
            ("_hidden", "many", "", "a"), ("FedAvg", "many", "71", "b"),
        )
    )  # fmt: skip
    return replace(report.tables[0], cells=cells, panels=(), **changes)


def test_a_legend_names_every_method_whatever_its_name_begins_with(report: Report) -> None:
    table = columns(report)
    figure, _ = answer_pictures._figure(table, answer_pictures.points(table), "x")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["_hidden", "FedAvg"]


def test_a_figure_of_the_paper_shows_ours_by_column_and_what_is_not_printed(report: Report) -> None:
    assert answer_pictures.by_column(columns(report)) == b""  # a table has its grid
    drawn = answer_pictures.by_column(columns(report, id="figure-8")).decode()
    assert all(f">{name}<" in drawn for name in ("few", "many"))
    page = html.render([replace(report, tables=(columns(report, id="figure-8"),))])
    assert "Not published: 1 of 4 values." in page


@pytest.mark.parametrize(("sent", "is_drawn"), [((1e6, 8e6), True), ((2e6, 2e6), False)])
def test_accuracy_is_drawn_over_what_was_exchanged_where_that_differs(
    report: Report, sent: tuple[float, float], is_drawn: bool
) -> None:
    runs = tuple(
        replace(report.runs[0], key=key, counts={"uploaded_bytes": n, "downloaded_bytes": n})
        for key, n in zip("ab", sent, strict=True)
    )
    table = columns(report)
    page = html.render([replace(report, tables=(table,), runs=runs)])
    assert ("by what was exchanged" in page) == is_drawn
    if is_drawn:
        drawn = answer_pictures.by_exchange(replace(report, runs=runs), table)
        assert b"mathdefault" not in drawn
