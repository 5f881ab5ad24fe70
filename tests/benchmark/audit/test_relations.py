from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.audit.checks import relations
from fedrepro.benchmark.claims.bind_cells import instances
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Relation
from tests.benchmark.audit.small_paper import cell, paper

PAPER = """
id = "p"
title = "T"
authors = "N. N."
year = 2024
[profiles.paper]
trials = 1
"""
TABLE = """
table = "1"
title = "t"
section = "4"
kind = "descriptive"
[[columns]]
label = "size"
[[columns]]
label = "bits"
[[rows]]
label = "A"
published = [2, 64]
"""


def load(folder: Path, more: str) -> Any:
    (folder / "p").mkdir()
    (folder / "p" / "paper.toml").write_text(PAPER)
    (folder / "p" / "1.toml").write_text(TABLE + more)
    return load_paper("p", folder)


@pytest.fixture
def grid() -> Any:
    return paper(
        *(
            cell(f"{i}{j}", row=row, column=column, unit="")
            for i, row in enumerate(["A|x", "A|y", "B|x"], 1)
            for j, column in enumerate(["one", "two"], 1)
        )
    )


@pytest.mark.parametrize(
    ("relation", "places"),
    [
        (Relation("r", "s", "'{row}' at 'one' < '{row}' at 'two'"), ["A|x", "A|y", "B|x"]),
        (Relation("r", "s", "'{row}' at 'one' < 99", rows=("A|*",)), ["A|x", "A|y"]),
        (Relation("r", "s", "'A|x' at '{column}' < 99", columns=("two",)), ["two"]),
        (Relation("r", "s", "'A|x' at 'one' < 99"), [""]),
    ],
)
def test_relation_runs_over_the_rows_and_columns_that_it_names(
    relation: Relation, places: list[str], grid: Any
) -> None:
    assert [where for where, _ in instances(relation, grid.tables[0], grid)] == places


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        (Relation("r", "s", "'A|x' at 'one' < 9", rows=("A|*",)), "the expression has no {row}"),
        (Relation("r", "s", "'{row}' at 'one' < 9", rows=("C|*",)), "'C|*' matches no row"),
        (Relation("r", "s", "'{row}' at 'three' < 9"), "'three' matches no column"),
    ],
)
def test_relation_that_cannot_be_meant_is_one_clear_error(
    relation: Relation, message: str, grid: Any
) -> None:
    with pytest.raises(SpecError) as error:
        list(instances(relation, grid.tables[0], grid))
    assert message in str(error.value)


def test_reading_of_a_claim_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    claims = """
[[claims]]
id = "much"
says = "s"
holds = "'A' at 'bits' > 9"
[[claims]]
id = "more"
says = "s"
holds = "'A' at 'bits' > 8"
reading_of = "mush"
"""
    with pytest.raises(SpecError, match=r"no claim 'mush'; did you mean 'much'"):
        load(tmp_path, claims)


def test_words_that_can_be_read_otherwise_contradict_no_print() -> None:
    cells = cell("2.0", row="A"), cell("3.0", row="B")
    relation = Relation("r", "A is above B", "'A' > 'B'")
    (sharp,) = relations.check(paper(*cells, relations=[relation]))
    (vague,) = relations.check(paper(*cells, relations=[replace(relation, vague="effective")]))
    assert (sharp.status, vague.status) == ("inconsistent", "undecidable")
    assert "'effective' can be read otherwise" in vague.statement


def test_of_many_comparisons_those_with_an_empty_cell_are_left_out() -> None:
    rows = {"A": ("8.0", "5.0"), "B": ("", "4.0"), "C": ("6.0", "3.0")}
    cells = [
        cell(text, row, column)
        for row, texts in rows.items()
        for column, text in zip("xy", texts, strict=True)
    ]
    rule = Relation("r", "x is twice y", "'*' at 'x' = 2 * '*' at 'y'")
    (found,) = relations.check(paper(*cells, relations=[rule]))
    assert found.status == "inconsistent"
    assert (("B",), ("x",)) not in {one[1:] for one in found.cells}
