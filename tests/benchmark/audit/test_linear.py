"""Comparisons as inequalities, held to the arithmetic that they stand for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest

from fedrepro.benchmark.audit.linear import Inequality, box_of, inequalities
from fedrepro.benchmark.claims.bind_cells import instances
from fedrepro.benchmark.claims.nodes import Elementary, key_of
from fedrepro.benchmark.spec.model import Relation
from fedrepro.benchmark.spec.printed import RULES, Rule

Make = Callable[..., Any]
GRID = tuple(Fraction(k, 2) for k in range(1, 7))
SIDES: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "'A'": lambda a, b: a,
    "'A' + 'B'": lambda a, b: a + b,
    "'A' - 'B'": lambda a, b: a - b,
    "'A' * 3 - 'B'": lambda a, b: 3 * a - b,
    "'B' - 'A' / 4": lambda a, b: b - a / 4,
    "mean('A', 'B')": lambda a, b: (a + b) / 2,
}


def holds(rows: list[Inequality] | None, values: Mapping[object, Fraction]) -> bool:
    assert rows is not None
    sums = [
        (row, row.form.constant + sum(w * values[q] for q, w in row.form.weights.items()))
        for row in rows
    ]
    return all(left < 0 if row.strict else left <= 0 for row, left in sums)


def bound(text: str, paper: Any) -> Elementary:
    ((_, (one,)),) = instances(Relation("r", "s", text), paper.tables[0], paper)
    return one


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sign", ["<", ">", "="])
def test_inequalities_hold_exactly_where_the_comparison_does(
    side: str, sign: str, cell: Make, paper: Make
) -> None:
    cells = [cell("1.0", row=row) for row in "ABC"]
    one = bound(f"{side} {sign} 'C'", paper(*cells))
    rows = inequalities(one, key_of, RULES[0])
    compare = {"<": operator.lt, ">": operator.gt, "=": operator.eq}[sign]
    for a in GRID:
        for b in GRID:
            for c in GRID:
                values = dict(zip(map(key_of, cells), (a, b, c), strict=True))
                assert holds(rows, values) is compare(SIDES[side](a, b), c)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("text", ["84.5", "84.6"])
def test_a_box_holds_the_values_that_print_so(
    rule: Rule, text: str, cell: Make, printed: Make
) -> None:
    one = cell(text)
    rows = list(box_of(one, "q", rule))
    for hundredths in range(8440, 8471):
        value = Fraction(hundredths, 100)
        assert holds(rows, {"q": value}) is (printed(value, 1, rule.removeprefix("half ")) == text)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("left", ["'A' - 'B'", "'A' / 'B'"])
def test_a_stated_number_holds_the_values_that_print_so(
    rule: Rule, left: str, cell: Make, paper: Make, printed: Make
) -> None:
    cells = cell("3.0", row="A"), cell("2.0", row="B")
    rows = inequalities(bound(f"{left} = 1.5", paper(*cells)), key_of, rule)
    for a in range(200, 401, 5):
        for b in range(50, 301, 25):
            x, y = Fraction(a, 100), Fraction(b, 100)
            value = x / y if "/" in left else x - y
            asked = value > 0 and printed(value, 1, rule.removeprefix("half ")) == "1.5"
            assert holds(rows, {key_of(cells[0]): x, key_of(cells[1]): y}) is asked
