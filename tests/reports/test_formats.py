import json
import re
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import Mock

import pytest

from fedrepro.benchmark.commands._judged import TOGETHER, write
from fedrepro.benchmark.judging.scoreboard import scoreboard
from fedrepro.benchmark.results import Report, Series, as_plain
from fedrepro.reports import figures, palette, sheets
from fedrepro.reports.parts import formats, join, write_parts
from fedrepro.reports.writers import html, markdown
from fedrepro.reports.writers import json as json_format

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Balance(HTMLParser):
    """Raises where a closing tag does not match the open one; keeps ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.append(str(given["id"]))
        if tag == "a":
            self.links.append(str(given.get("href")))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_its_links_lead_somewhere(report: Report) -> None:
    page = Balance()
    page.feed(html.render([report]))
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_the_page_asks_nothing_of_a_network(report: Report) -> None:
    text = html.render([report])
    assert "<script src" not in text
    assert "<link" not in text
    assert "@import" not in text
    loaded = re.findall(r"(?:src|href)\s*=\s*\"([^\"#][^\"]*)\"", text)
    assert [address for address in loaded if not address.startswith("data:")] == []


def test_text_from_a_spec_cannot_become_markup(report: Report) -> None:
    assert "<script>alert(1)</script>" not in html.render([report])
    assert "<script>alert(1)</script>" not in markdown.render([report])


def test_every_verdict_stands_as_a_word_beside_its_numbers(report: Report) -> None:
    text = html.render([report])
    for word in ("SCALED", "NOT RUN", "ERROR", "HOLDS"):
        assert f">{word}</span>" in text
    assert "no published number has been reproduced or refuted" in text


def test_markdown_tables_have_as_many_fields_in_every_row_as_in_their_header(
    report: Report,
) -> None:
    width = 0
    for line in markdown.render([report]).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        fields = len(re.findall(r"(?<!\\)\|", line))
        width = width or fields
        assert fields == width, line


def test_json_holds_every_number_and_reads_back(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json_format.render([report]), encoding="utf-8")
    plain = json.loads(path.read_text(encoding="utf-8"))
    assert plain["tables"][0]["cells"][0]["published"] == "76.80"
    assert plain["tables"][0]["cells"][0]["trials"] == [80.0, 82.0, None]
    assert plain["schema"] == report.schema


def test_a_figure_is_the_same_bytes_each_time_and_names_itself(report: Report) -> None:
    for series in report.tables[1].panels:
        drawn = figures.svg(series)
        assert drawn == figures.svg(series)
        assert drawn.startswith('<svg role="img" aria-label=')


def test_a_figure_is_the_same_as_when_matplotlib_measures_its_font(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = [figures.svg(series) for series in report.tables[1].panels]
    monkeypatch.delattr(sheets._Renderer, "_get_font_height_metrics")
    assert drawn == [figures.svg(series) for series in report.tables[1].panels]


def test_an_audit_finding_stands_with_its_table_and_marks_its_cell(report: Report) -> None:
    text = html.render([report])
    beside_cell_and_below_table = 2 * len(report.tables)
    assert text.count("76.80 is off the grid k/3000") == beside_cell_and_below_table
    assert text.count("audit: inconsistent") == len(report.tables)
    assert "76.77 or 76.83" in markdown.render([report])


def test_a_report_on_several_papers_keeps_their_places_apart(report: Report) -> None:
    other = replace(report, paper="other")
    page = Balance()
    page.feed(html.render([report, other]))
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert {"toy-table-3", "other-table-3"} <= set(page.ids)


def test_a_cell_leads_to_all_that_is_known_of_it(report: Report) -> None:
    text = html.render([report])
    sheet = text[text.index('popovertarget="toy-table-3-c1-1"') :]
    sheet = sheet[sheet.index('id="toy-table-3-c1-1"') :]
    sheet = sheet[: sheet.index("</div>")]
    for fact in (
        "because of scaled",
        "80.00",
        "82.00",
        "fedrepro run toy --tables 3",
        "off the grid",
    ):
        assert fact in sheet
    assert "#toy-run-abcdef012345" in sheet


def test_settings_of_a_run_are_told_as_json_that_cannot_become_markup(report: Report) -> None:
    config = {
        "method": "a<b>&'c", "start": "0123456789abcdef", "data": {"b": 1, "a": None},
        "rate": 0.5, "secure": False, "layers": 0, "head": None, "options": {},
    }  # fmt: skip
    text = html.render([replace(report, runs=(replace(report.runs[0], config=config),))])
    told = text[text.index('id="toy-run-abcdef012345"') :].partition('<pre tabindex="0">')[2]
    assert told.partition("</pre>")[0].splitlines() == [
        r'method = "a\u003cb\u003e\u0026\u0027c"',
        'data = {"a": null, "b": 1}',
        "rate = 0.5",
        "secure = false",
        "layers = 0",
    ]
    assert 'starts from <a href="#toy-run-0123456789ab">' in told


def test_markdown_is_shortened_to_fit_and_says_so(report: Report) -> None:
    whole = markdown.render([report])
    tables = markdown.render([report], limit=len(whole.encode()) - 1)
    least = markdown.render([report], limit=1)
    assert len(least) < len(tables) < len(whole)
    assert "Every cell with its trials" in whole
    assert "Every cell with its trials" not in tables
    assert "Shortened to the overview" in least
    assert "## Scoreboard" in least


def test_intervals_are_called_what_they_are(report: Report) -> None:
    for text in (html.render([report]), markdown.render([report])):
        assert "95 % interval" in text
        assert "90 %" not in text


def test_rounds_and_clients_are_counted_in_whole_numbers_from_one(report: Report) -> None:
    for series in report.tables[1].panels:
        if series.kind in ("points", "pictures"):  # distances in a map have no unit
            continue
        ticks = re.findall(r"<text[^>]*>([\d.−-]+)</text>", figures.svg(series))
        assert "1" in ticks
        if series.kind != "curves":
            assert not [tick for tick in ticks if "." in tick or "−" in tick]


def test_text_and_axes_of_a_figure_take_the_colour_of_the_page(report: Report) -> None:
    drawn = figures.svg(report.tables[1].panels[0])
    assert "currentColor" in drawn
    assert palette.INK not in drawn


def dots(drawing: str) -> list[tuple[float, float]]:
    """Where a drawing has lines of no length, which round ends make dots."""
    lines = "".join(re.findall(r'<path d="([^"z]*)"', drawing))  # z: of an area
    found = re.findall(r"M ([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", lines)
    return [(float(x), float(y)) for x, y, *end in found if [x, y] == end]


def test_a_run_of_one_round_is_drawn_as_a_point() -> None:
    alone, line = (
        figures.svg(
            Series("curves", "", "", "", lines={"A": [(rounds, [5.0, 6.0][: len(rounds)])]})
        )
        for rounds in ([1.0], [1.0, 2.0])
    )
    assert (len(dots(alone)), len(dots(line))) == (1, 0)


def test_a_map_keeps_distances_and_shows_every_point_once() -> None:
    lines = {"one": [([0.0, 4.0], [0.0, 1.0])], "<two>": [([0.0], [-1.0])]}
    drawn = figures.svg(Series("points", "a map", "", "", lines=lines))
    assert "<two>" not in drawn
    (ax, ay), (bx, by), (cx, cy) = dots(drawn)
    assert (bx - ax) / (ay - by) == pytest.approx(4, abs=0.01)  # up is smaller y
    assert cx == ax
    assert cy - ay == pytest.approx(ay - by, abs=0.02)


def test_series_of_equal_colour_are_all_drawn() -> None:
    many = {f"client {i}": [([float(i)], [float(i)])] for i in range(2 * len(palette.PALETTE))}
    for kind in ("points", "curves"):
        assert len(dots(figures.svg(Series(kind, "", "", "", lines=many)))) == len(many)


def test_a_figure_does_not_show_what_was_drawn_before_it(report: Report) -> None:
    panels = {series.kind: series for series in report.tables[1].panels}
    panels["scatter"] = Series("scatter", "nothing", "", "")
    first = {kind: figures.svg(series) for kind, series in panels.items()}
    for series in panels.values():
        lines = {"another": [([7.0], [7.0])]}
        figures.svg(replace(series, lines=lines, x_label="other", y_label="other"))
    assert {kind: figures.svg(series) for kind, series in panels.items()} == first


def test_names_of_any_length_stand_beside_the_axes_and_not_on_them() -> None:
    def edges(label: str) -> tuple[float, float, float]:
        drawn = figures.svg(Series("scatter", "", "", "", lines={label: [([1.0], [1.0])]}))
        (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', drawn)
        (frame,) = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn)
        (name,) = re.findall(rf'x="([\d.]+)"[^>]*>{label}<', drawn)
        return sum(map(float, frame)), float(name), float(width)

    for letters in (1, 20, 200):
        axes, name, page = edges("w" * letters)
        assert axes < name < page - 4 * letters


def test_each_name_of_a_legend_stands_at_the_height_of_its_mark() -> None:
    names = ["a", "gyp", "LONG NAME", "é"]
    lines = {name: [([1.0, 2.0], [float(i), i + 0.5])] for i, name in enumerate(names)}
    drawn = figures.svg(Series("curves", "", "", "", lines=lines))
    heights = [float(y) for y, name in re.findall(r' ([\d.]+)\)">([^<]+)<', drawn) if name in names]
    marks = re.findall(r'd="M [\d.]+ ([\d.]+)L[\d.]+ \1 \n"[^>]*stroke-width: 1.6', drawn)
    below = [height - float(mark) for height, mark in zip(heights, marks, strict=True)]
    assert max(below) - min(below) < 0.1
    assert 0 < min(below) < 5


def test_of_many_papers_each_has_a_page_and_the_overview_leads_to_it(
    report: Report, tmp_path: Path
) -> None:
    many = [replace(report, paper=f"p{i}") for i in range(TOGETHER + 1)]
    write(many, tmp_path)
    whole = (tmp_path / html.FILE).read_text(encoding="utf-8")
    for one in many:
        own = tmp_path / "papers" / f"{one.paper}.html"
        assert whole.count(f'href="papers/{own.name}"') == 1
        text = own.read_text(encoding="utf-8")
        Balance().feed(text)
        assert f'href="../{html.FILE}"' in text
        assert "76.80" in text
    assert "76.80" not in whole
    Balance().feed(whole)
    names = {writer.FILE for writer in formats().values()}
    assert {path.name for path in tmp_path.iterdir()} == {"papers", *names}
    write(many[1:], tmp_path / "few")
    assert {path.name for path in (tmp_path / "few").iterdir()} == names


def test_a_report_joined_from_parts_says_what_one_made_at_once_says(
    report: Report, tmp_path: Path
) -> None:
    empty = replace(report, paper="empty", tables=(replace(report.tables[0], cells=()),))
    several = [report, empty, replace(report, paper="other", title="line\nbreak")]
    places = [tmp_path / str(i) for i in range(len(several))]
    for one, place in zip(several, places, strict=True):
        place.mkdir()
        write_parts(one, place)
    join(places, list(map(scoreboard, several)), tmp_path)
    for format, writer in formats().items():
        joined = (tmp_path / writer.FILE).read_bytes()
        assert (joined == writer.render(several).encode()) == (format != "html")
    for one, place in zip(several, places, strict=True):
        page = tmp_path / "papers" / f"{one.paper}.html"
        assert page.read_bytes() == (place / "html-page").read_bytes()


def test_pages_are_shown_again_and_where_a_disk_has_no_links(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, page = tmp_path / "part", tmp_path / "papers" / f"{report.paper}.html"
    place.mkdir()
    for title in ("first", "second"):
        write_parts(replace(report, title=title), place)
        for _ in range(2):
            join([place], [scoreboard(report)], tmp_path)
            assert title in page.read_text(encoding="utf-8")
            assert [file.name for file in page.parent.iterdir()] == [page.name]
        monkeypatch.setattr(Path, "hardlink_to", Mock(side_effect=OSError("no links here")))


def test_several_papers_as_json_are_the_list_of_their_reports(report: Report) -> None:
    other = replace(report, paper="other", title="line\nbreak")
    alone = [json.loads(json_format.render([one])) for one in (report, other)]
    text = json_format.render([report, other])
    assert json.loads(text) == alone
    assert text == "[{},\n{}]\n".format(
        *(json_format.part(one, "report") for one in (report, other))
    )


def test_json_holds_what_plain_data_hold_a_value_a_line(report: Report) -> None:
    odd = replace(
        report.provenance,
        command='tab\t"quote" \\ é \u2028 \x7f NaN,\nInfinity',
        versions={},
        data={"a": {"n": 10**20, "x": [1e-7, 1e22, -0.0, True, None, ()], "d": Decimal("1.50")}},
        wall_s=0.1 + 0.2,
    )
    report = replace(report, provenance=odd, runs=())
    text = json_format.render([report])
    assert json.loads(text) == json.loads(json.dumps(as_plain(report)))
    assert odd.command in json.loads(text)["provenance"]["command"]
    assert "é" in text
    assert text.count("\n") > 100  # a value a line
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            json_format.render([replace(report, provenance=replace(odd, wall_s=number))])
