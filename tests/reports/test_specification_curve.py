import re
from dataclasses import replace

import pytest

from fedrepro.benchmark.claims.answer import ClaimAnswer
from fedrepro.benchmark.results import Report, Universe
from fedrepro.benchmark.stats.intervals import Interval
from fedrepro.reports.specification_curve import HEIGHT, curves, draw, names, said
from fedrepro.reports.writers import html, markdown


def marks(drawing: str) -> list[float]:
    """The heights of the marks, upwards from the line of no difference."""
    (zero,) = (float(y) for y in re.findall(r'class="zero" d="M0 ([\d.]+)H', drawing))
    found = re.findall(r'class="dot [\w-]*" d="M\d+ ([\d.]+)h0"', drawing)
    return [zero - float(y) for y in found]


def test_a_claim_is_above_the_line_where_it_is_right() -> None:
    under = [
        ClaimAnswer("HOLDS", "r", "ratio", 1, ours=Interval(4.0, 1.0, 7.0)),
        ClaimAnswer("OPPOSITE", "r", "ratio", 1, ours=Interval(-2.0, -3.0, -1.0)),
        ClaimAnswer("NOT RUN", "r", "", 1),
    ]
    up, down = marks(str(draw(under)))
    assert up > 0 > down
    assert up / down == pytest.approx(4.0 / -2.0, abs=0.05)
    heights = [float(y) for y in re.findall(r"[ V]([\d.]+)[Vh\"]", str(draw(under)))]
    assert all(0 <= y <= HEIGHT for y in heights)


def test_claims_that_hang_on_a_reading_come_first(report: Report) -> None:
    one, *_ = curves(report)
    assert one.words == {"HOLDS": "1", "OPEN": "2", "NOT RUN": "3"}
    assert not one.is_stable
    same = tuple(Universe(u.readings, report.universes[0].claims) for u in report.universes)
    assert curves(replace(report, universes=same))[0].is_stable


def test_universes_are_named_by_their_readings(report: Report) -> None:
    assert names(report) == ["as taken", "best", "fresh"]


def test_a_claim_that_was_not_compared_has_a_word_alone(report: Report) -> None:
    first, _, last = (next(iter(one.claims.values())) for one in report.universes)
    assert said(first) == "HOLDS: +3.00 [+1.00, +5.00]"
    assert said(last) == "NOT RUN"


def test_pages_tell_choices_and_what_hangs_on_them(report: Report) -> None:
    page = html.render([report])
    assert 'id="toy-readings"' in page
    assert "2 of 2 claims that were judged change their status" in page
    text = markdown.render([report])
    assert "## Claims by alternative: 2 of 2 claims that were judged change their status" in text


def test_pages_of_a_report_without_choices_have_no_such_part(report: Report) -> None:
    bare = replace(report, choices=(), universes=())
    assert "toy-readings" not in html.render([bare])
    assert "Readings" not in markdown.render([bare])
