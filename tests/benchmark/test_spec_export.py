from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from fedrepro.benchmark.spec.export import export
from fedrepro.benchmark.spec.load import load_papers, paper_ids
from fedrepro.benchmark.spec.model import Cell, Paper, Readout, Table
from fedrepro.benchmark.spec.printed import Printed


def cell(printed: Printed, at: int | None = None) -> Cell:
    return Cell(
        paper="p",
        table="1",
        row=("A", "B"),
        column=("C",),
        kind="empirical",
        metric="accuracy",
        unit="%",
        printed=printed,
        read=Readout() if at is None else Readout(at),
        experiment={} if printed.is_blank else {"method": "fedavg"},
    )


def paper(*cells: Cell) -> Paper:
    table = Table(
        paper="p",
        id="1",
        title="t",
        section="4",
        kind="empirical",
        metric="accuracy",
        unit="%",
        cells=cells,
        claims=(),
        margin=None,
        sd_ddof=None,
        sd_runs=None,
        unstated=(),
        notes=(),
        figure=None,
        file=Path("1.toml"),
    )
    return Paper("p", "t", "a", 2023, (table,), {}, (), Path("paper.toml"))


def test_a_table_names_paper_table_kind_metric_and_cells() -> None:
    (table,) = export([paper(cell(Printed.parse("41.20"), at=25))])
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
    (table,) = export([paper(cell(Printed.parse(text)))])
    assert (table["cells"][0]["published"], table["cells"][0]["sd"]) == (published, sd)


def test_uncertain_values_keep_their_range() -> None:
    printed = Printed("41.4", Decimal("41.4"), low=Decimal("41.30"), high=Decimal("41.9"))
    (table,) = export([paper(cell(printed))])
    assert (table["cells"][0]["low"], table["cells"][0]["high"]) == ("41.30", "41.9")


@pytest.mark.parametrize("id", paper_ids())
def test_the_published_record_is_json_without_numbers(id: str) -> None:
    exported = export(paper for paper in load_papers() if paper.id == id)

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is a number, not text")

    assert exported
    assert json.loads(json.dumps(exported), parse_float=refuse, parse_int=refuse) == exported
