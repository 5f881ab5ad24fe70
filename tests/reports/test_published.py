"""`docs/published.md` and the README say what the committed records say, no more and no less."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.committed import RunCell, judge_committed, run_cells
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.benchmark.store.published import PublishedTrials
from fedrepro.reports.published import PLACES, texts, write, written

ROOT = Path(__file__).parents[2]
RENEW = "fedrepro published --docs ."


@pytest.fixture(scope="module")
def cells() -> list[RunCell]:
    """Those of this checkout's records."""
    published = PublishedTrials(ROOT / "results/published")
    runs = {run for run, _ in published.trials}
    plans = [make_plan(paper, "paper") for paper in load_papers()] if runs else []
    return [
        cell
        for plan in plans
        if any(run.key in runs for run in plan.runs)
        for cell in run_cells(
            plan, judge_committed(plan, published, command="c", audit=False), published
        )
    ]


@pytest.mark.parametrize("name", PLACES)
def test_the_pages_say_what_the_records_say(name: str, cells: list[RunCell]) -> None:
    text = (ROOT / PLACES[name]).read_text("utf-8")
    assert written(text, name, texts(cells)[name]) == text, RENEW


def test_only_what_stands_between_the_marks_is_written() -> None:
    page = "a <!-- published: table -->b\nc<!-- published: end --> d <!-- published: end -->"
    after = "a <!-- published: table -->new \\1<!-- published: end --> d <!-- published: end -->"
    assert written(page, "table", "new \\1") == after


@pytest.mark.parametrize("page", ["", "<!-- published: table -->", "twice"])
def test_a_page_without_its_one_place_is_refused(page: str) -> None:
    one = "<!-- published: table --><!-- published: end -->"
    with pytest.raises(FedreproError, match="not one place"):
        written(one + one if page == "twice" else page, "table", "new")


def test_a_folder_that_is_no_checkout_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(FedreproError, match="names the root of a checkout"):
        write(tmp_path, [])
