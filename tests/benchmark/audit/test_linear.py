"""Sides of comparisons as weighted sums, held to the arithmetic that they stand for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from fractions import Fraction

import pytest

from fedrepro.benchmark.audit.expressions import form_of
from fedrepro.benchmark.claims.bind_cells import instances
from fedrepro.benchmark.claims.nodes import Node, key_of
from fedrepro.benchmark.spec.model import Paper, Relation
from tests.benchmark.audit.small_paper import cell, paper

GRID = tuple(Fraction(k, 2) for k in range(1, 7))
SIDES: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "'A'": lambda a, b: a,
    "'A' + 'B'": lambda a, b: a + b,
    "'A' - 'B'": lambda a, b: a - b,
    "'A' * 3 - 'B'": lambda a, b: 3 * a - b,
    "2 * ('A' - 4)": lambda a, b: 2 * a - 8,
    "'B' - 'A' / 4": lambda a, b: b - a / 4,
    "mean('A', 'B')": lambda a, b: (a + b) / 2,
}


def left_side(text: str, made: Paper) -> Node:
    relation = Relation("r", "s", f"{text} < 'C'")
    ((_, (one,)),) = instances(relation, made.tables[0], made)
    side: Node = one.left
    return side


@pytest.mark.parametrize("side", SIDES)
def test_a_form_is_its_side_at_all_values(side: str) -> None:
    cells = [cell("1.0", row=row, unit="") for row in "ABC"]
    form = form_of(left_side(side, paper(*cells)))
    assert form is not None
    for values in itertools.product(GRID, repeat=2):
        known = {None: Fraction(1), **dict(zip(map(key_of, cells), values, strict=False))}
        total = sum(weight * known[key] for key, weight in form.items())
        assert total == SIDES[side](*values)


@pytest.mark.parametrize("side", ["'A' * 'B'", "'A' / 'B'", "1 / 'A'", "max('A', 'B')"])
def test_what_is_not_linear_has_no_form(side: str) -> None:
    cells = [cell("1.0", row=row, unit="") for row in "ABC"]
    assert form_of(left_side(side, paper(*cells))) is None
