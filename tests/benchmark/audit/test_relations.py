from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fedrepro.benchmark.audit.checks import relations
from fedrepro.benchmark.audit.expressions import weights_of
from fedrepro.benchmark.claims.bind_cells import instances
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec.model import Relation
from tests.benchmark.audit.small_paper import cell, paper, rows


@pytest.fixture
def grid() -> Any:
    return paper(
        *(
            cell(f"{i}{j}", row=row, column=column, unit="", metric="bits")
            for i, row in enumerate(["A|x", "A|y", "B|x"], 1)
            for j, column in enumerate(["one", "two"], 1)
        )
    )


@pytest.mark.parametrize(("relation", "places"), [
    (Relation("r", "s", "'{row}' at 'one' < '{row}' at 'two'"), ["A|x", "A|y", "B|x"]),
    (Relation("r", "s", "'{row}' at 'one' < 99", rows=("A|*",)), ["A|x", "A|y"]),
    (Relation("r", "s", "'A|x' at '{column}' < 99"), ["one", "two"]),
    (Relation("r", "s", "'A|x' at 'one' < 99"), [""]),
])  # fmt: skip
def test_relation_runs_over_the_rows_and_columns_that_it_names(
    relation: Relation, places: list[str], grid: Any
) -> None:
    assert [where for where, _ in instances(relation, grid.tables[0], grid)] == places


@pytest.mark.parametrize(("relation", "message"), [
    (Relation("r", "s", "'A|x' at 'one' < 9", rows=("A|*",)), "the expression has no {row}"),
    (Relation("r", "s", "'{row}' at 'one' < 9", rows=("C|*",)), "'C|*' matches no row"),
    (Relation("r", "s", "'{row}' at 'three' < 9"), "'three' matches no column"),
])  # fmt: skip
def test_relation_that_cannot_be_meant_is_one_clear_error(
    relation: Relation, message: str, grid: Any
) -> None:
    with pytest.raises(SpecError) as error:
        list(instances(relation, grid.tables[0], grid))
    assert message in str(error.value)


def test_words_that_can_be_read_otherwise_contradict_no_print() -> None:
    cells = rows({"A": "2.0", "B": "3.0"})
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


SIDES: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "'A'": lambda a, b: a,
    "'A' + 'B'": lambda a, b: a + b,
    "'A' - 'B'": lambda a, b: a - b,
    "'A' * 3 - 'B'": lambda a, b: 3 * a - b,
    "2 * ('A' - 4)": lambda a, b: 2 * a - 8,
    "'B' - 'A' / 4": lambda a, b: b - a / 4,
    "mean('A', 'B')": lambda a, b: (a + b) / 2,
}


def weights(side: str) -> list[Fraction] | None:
    made = paper(*rows(dict.fromkeys("ABC", "1.0"), unit="", metric="bits"))
    ((_, (one,)),) = instances(Relation("r", "s", f"{side} < 'C'"), made.tables[0], made)
    found = weights_of(one.left)
    return None if found is None else list(found.values())


@pytest.mark.parametrize("side", SIDES)
def test_weights_are_the_slopes_of_a_side(side: str) -> None:
    side_at, zero, one = SIDES[side], Fraction(0), Fraction(1)
    slopes = [side_at(one, zero) - side_at(zero, zero), side_at(zero, one) - side_at(zero, zero)]
    assert sorted(weights(side) or ()) == sorted(slope for slope in slopes if slope)


@pytest.mark.parametrize("side", ["'A' * 'B'", "'A' / 'B'", "1 / 'A'", "max('A', 'B')"])
def test_what_is_not_linear_has_no_weights(side: str) -> None:
    assert weights(side) is None


def test_a_relation_that_cannot_fail_is_refused() -> None:
    made = paper(cell("2.0"), relations=[Relation("r", "s", "'{row}' = '{row}'")])
    with pytest.raises(SpecError, match=r"relation 'r \(A\)': .* cannot fail: all values"):
        list(relations.check(made))
