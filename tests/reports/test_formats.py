import json
import re
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from pydantic_core import to_jsonable_python

from fedrepro.benchmark.results import Report
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


def test_pages_are_well_formed_links_lead_somewhere_and_papers_keep_apart(report: Report) -> None:
    for papers in (["toy"], ["toy", "other"]):
        page = Balance()
        page.feed(html.render([replace(report, paper=paper) for paper in papers]))
        assert page.open == []
        assert len(page.ids) == len(set(page.ids))
        assert within(page) <= set(page.ids)
        assert {f"{paper}-table-3" for paper in papers} <= set(page.ids)


def within(page: Balance) -> set[str]:
    """Where links lead that do not lead out of the page; those that do lead to the paper."""
    away = {link for link in page.links if link[0] != "#"}
    assert {link for link in away if link[:5] != "data:"} == {"https://doi.org/10.1000/182"}
    return {link[1:] for link in page.links if link[0] == "#"}


def test_markdown_tables_have_as_many_fields_in_a_row_as_in_their_header(report: Report) -> None:
    width = 0
    for line in markdown.render([report]).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        fields = len(re.findall(r"(?<!\\)\|", line))
        width = width or fields
        assert fields == width, line


def test_an_audit_finding_stands_with_its_table_and_marks_its_cell(report: Report) -> None:
    text = html.render([report])
    beside_cell_and_below_table = 2 * len(report.tables)
    assert text.count("76.80 is off the grid k/3000") == beside_cell_and_below_table
    assert text.count("audit: inconsistent") == len(report.tables)
    assert "76.77 or 76.83" in markdown.render([report])


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
    assert markdown.render([report], limit=len(whole.encode())) == whole
    least = markdown.render([report], limit=len(whole.encode()) - 1)
    assert len(least) < len(whole)
    assert "Shortened to the overview" in least
    assert "## Scoreboard" in least


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
    assert json.loads(text) == json.loads(json.dumps(to_jsonable_python(report)))
    assert odd.command in json.loads(text)["provenance"]["command"]
    assert "é" in text
    assert text.count("\n") > 100  # a value a line
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            json_format.render([replace(report, provenance=replace(odd, wall_s=number))])
