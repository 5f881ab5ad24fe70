import json
from dataclasses import replace
from decimal import Decimal

import pytest

from fedrepro.benchmark.spec.export import export
from fedrepro.benchmark.spec.load import load_papers, paper_ids
from fedrepro.benchmark.spec.printed import Printed
from tests.benchmark.audit.small_paper import cell, paper


def test_a_table_names_paper_table_kind_metric_and_cells() -> None:
    (table,) = export([paper(cell("41.20", row="A|B", at=25))])
    assert (table["paper"], table["table"]) == ("p", "1")
    assert (table["kind"], table["metric"]) == ("empirical", "accuracy")
    (exported,) = table["cells"]
    assert (exported["row"], exported["column"]) == (["A", "B"], ["C"])
    assert (exported["published"], exported["sd"], exported["at"]) == ("41.20", None, "25")


@pytest.mark.parametrize(
    ("text", "published", "sd"),
    [
        ("41.20", "41.20", None),
        ("42.73 ± 0.60", "42.73", "0.60"),
        ("≈ 23", "≈ 23", None),
        ("—", "—", None),
        ("2ST", "2ST", None),
    ],
)
def test_values_are_exported_as_printed(text: str, published: str, sd: str | None) -> None:
    (table,) = export([paper(cell(text))])
    assert (table["cells"][0]["published"], table["cells"][0]["sd"]) == (published, sd)


def test_uncertain_values_keep_their_range() -> None:
    printed = Printed("41.4", Decimal("41.4"), low=Decimal("41.30"), high=Decimal("41.9"))
    (table,) = export([paper(replace(cell("41.4"), printed=printed))])
    assert (table["cells"][0]["low"], table["cells"][0]["high"]) == ("41.30", "41.9")


@pytest.mark.parametrize("id", paper_ids())
def test_the_published_record_is_json_without_numbers(id: str) -> None:
    exported = export(paper for paper in load_papers() if paper.id == id)

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is a number, not text")

    assert exported
    assert json.loads(json.dumps(exported), parse_float=refuse, parse_int=refuse) == exported
