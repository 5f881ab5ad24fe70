"""README, results and findings say what today's rules make of the recorded runs."""

import json

import pytest

from fedrepro.benchmark.judging.baseline import recorded
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import paper_ids
from tools import found, gallery


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return [found.judged(paper) for paper in found.PAPERS]


@pytest.mark.parametrize("page", found.FILES)
def test_what_was_found_is_what_the_records_say(page: str, reports: list[Report]) -> None:
    text = (found.ROOT / page).read_text("utf-8")
    assert set(found.PAPERS) == set(paper_ids())
    assert found.filled(text, found.FILES[page](reports)) == text, "python -m tools.found"


def test_recorded_words_are_those_of_todays_rules(reports: list[Report]) -> None:
    for report in reports:
        path = found.ROOT / "results" / "baselines" / f"{report.paper}-{report.profile}.json"
        words = json.loads(path.read_text("utf-8"))
        now = recorded(report)
        assert (words["schema"], words["claims"]) == (2, now.claims), report.paper
        assert {place: one["verdict"] for place, one in words["cells"].items()} == {
            place: one.verdict for place, one in now.cells.items()
        }, report.paper


def test_the_gallery_says_which_drawings_need_what_records_have_not(reports: list[Report]) -> None:
    said = {
        f"{report.paper} {table.id}"
        for report in reports[:3]
        for table in gallery.shown(report).tables
        if gallery.ABSENT in table.notes
    }
    curves = {f"cpcfl figure-{number}" for number in (3, 4, 5, 7)}
    assert said == curves | {f"calibre figure-{number}" for number in (1, 2, 5, 6, 7, 8)}
