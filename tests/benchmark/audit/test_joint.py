"""Statements that can be true one by one and not together, and the proofs of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fedrepro.benchmark.audit.checks import joint
from fedrepro.benchmark.audit.feasible import contradiction
from fedrepro.benchmark.audit.linear import Form, Inequality
from fedrepro.benchmark.spec.model import Claim, Relation

Make = Callable[..., Any]
rules = st.sampled_from(["up", "even"])
places = st.integers(0, 3)
shares = st.integers(0, 100_000).map(lambda n: Fraction(n, 1000))


def row(weights: Sequence[int], bound: int, strict: bool = False) -> Inequality:
    """Weights times quantities are at most (or below) the bound."""
    form = Form(Fraction(-bound), {i: Fraction(w) for i, w in enumerate(weights) if w})
    return Inequality(form, strict)


@pytest.mark.parametrize("strict", [True, False])
def test_inequalities_that_touch_contradict_each_other_only_if_one_is_strict(strict: bool) -> None:
    proof = contradiction([row([1], 2), row([-1], -2, strict)])
    assert (proof is not None) is strict


def test_proof_names_no_inequality_that_it_can_do_without() -> None:
    rows = [row([1, 0], 5), row([1, 1], 1), row([-1, 0], -1), row([0, -1], -1), row([0, 1], 9)]
    proof = contradiction(rows)
    assert proof is not None
    assert dict(proof.multipliers) == {1: 1, 2: 1, 3: 1}
    assert proof.left == -1


def test_what_only_rounding_makes_impossible_is_possible() -> None:
    """x and y up to 1 can add up to more than 2 - 10^-5, by less than a solver tells apart."""
    sum_of_both = Form(Fraction(2) - Fraction(1, 100_000), {0: Fraction(-1), 1: Fraction(-1)})
    boxes = [row([1, 0], 1), row([0, 1], 1), row([-1, 0], 0), row([0, -1], 0)]
    assert contradiction([*boxes, Inequality(sum_of_both, strict=True)]) is None
    beyond = Inequality(sum_of_both + Form(Fraction(1, 100_000), {}), strict=True)
    assert contradiction([*boxes, beyond]) is not None


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any),
            st.integers(-6, 6),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_proof_is_there_exactly_where_a_solver_finds_no_values(
    given_rows: list[tuple[list[int], int]],
) -> None:
    rows = [row(weights, bound) for weights, bound in given_rows]
    proof = contradiction(rows)
    weights, bounds = (np.array(side, float) for side in zip(*given_rows, strict=True))
    solved = linprog(np.zeros(3), A_ub=weights, b_ub=bounds, bounds=(None, None))
    assert (proof is None) == (solved.status == 0)
    if proof is not None:
        for i in range(3):
            assert not sum(times * given_rows[k][0][i] for k, times in proof.multipliers)
        assert sum(times * given_rows[k][1] for k, times in proof.multipliers) == proof.left < 0


def test_second_print_of_a_value_makes_arithmetic_impossible(cell: Make, paper: Make) -> None:
    first = [cell("66.5"), cell("62.7", row="B"), cell("50.0", row="X")]
    second = [
        cell("66.52", table="2"),
        cell("62.70", row="B", table="2"),
        cell("50.00", row="X", table="2"),
    ]
    said = [Claim("gain", "A gains", "'A' - 'B' = 3.7")]
    assert [one.status for one in joint.check(paper(*first, claims=said))] == ["consistent"]
    (found,) = joint.check(paper(*first, *second, claims=said))
    assert found.status == "inconsistent"
    assert found.tables == ("1", "2")
    assert "the sum misses what is stated by 0.06" in found.computed
    assert "66.52 (table 2) is at least 66.515" in found.computed
    assert "X" not in {label for _, (label,), _ in found.cells}


def test_statements_that_cannot_all_be_true_are_named_and_no_others(
    cell: Make, paper: Make
) -> None:
    cells = [cell(text, row=row) for row, text in (("A", "9"), ("B", "5"), ("C", "2"))]
    said = [
        Claim("ab", "A leads B", "'A' - 'B' = 4.9"),
        Claim("bc", "B leads C", "'B' - 'C' = 3.9"),
        Claim("ac", "A leads C", "'A' - 'C' = 6.2"),
        Claim("c", "C is two", "'C' = 2"),
    ]
    (found,) = joint.check(paper(*cells, claims=said))
    assert found.status == "inconsistent"
    assert found.statement == (
        "Each of these can be true, all of them cannot: A leads B (table 1). "
        "B leads C (table 1). A leads C (table 1)."
    )


@pytest.mark.parametrize(
    ("other", "status"), [("'A' - 'B' = 4.1", "consistent"), ("'A' - 'B' = 4.8", "inconsistent")]
)
def test_sentence_contradicts_others_only_in_all_of_its_readings(
    other: str, status: str, cell: Make, paper: Make
) -> None:
    cells = [cell(text, row=row) for row, text in (("A", "9"), ("B", "5"))]
    said = [
        Claim("twice", "twice the gain", "2 * 'A' - 2 * 'B' = 8.2"),
        Claim("gain", "the gain", "'A' - 'B' = 4.9"),
        Claim("reading", "the gain", other, reading_of="gain"),
    ]
    found = list(joint.check(paper(*cells, claims=said)))
    assert [one.status for one in found] == [status]


def test_a_relation_says_nothing_of_a_row_with_a_dash(cell: Make, paper: Make) -> None:
    rows = {"A": ("8.0", "4.0"), "B": ("—", "4.0")}
    cells = [
        cell(text, row, column)
        for row, texts in rows.items()
        for column, text in zip("xy", texts, strict=True)
    ]
    rule = Relation("r", "x is twice y", "'{row}' at 'x' = 2 * '{row}' at 'y'")
    (found,) = joint.check(paper(*cells, relations=[rule]))
    assert found.status == "consistent"
    assert {row for _, row, _ in found.cells} == {("A",)}


def test_words_without_a_bound_contradict_nothing(cell: Make, paper: Make) -> None:
    cells = [cell(text, row=row) for row, text in (("A", "9"), ("B", "5"))]
    said = [
        Claim("gain", "the gain", "'A' - 'B' = 4.9"),
        Claim("vague", "about", "'A' - 'B' = 4.1", vague="about"),
    ]
    assert [one.status for one in joint.check(paper(*cells, claims=said))] == ["consistent"]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(shares, places, places), min_size=2, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), places), min_size=1, max_size=5),
    rules,
)
def test_true_statements_about_numbers_printed_twice_never_contradict_each_other(
    cell: Make,
    paper: Make,
    printed: Make,
    values: list[tuple[Fraction, int, int]],
    pairs: list[tuple[int, int, int]],
    rule: str,
) -> None:
    cells = [
        cell(printed(value, digits, rule), row=f"r{i}", table=table)
        for i, (value, first, second) in enumerate(values)
        for table, digits in (("1", first), ("2", second))
    ]
    said, tied = [], []
    for n, (a, b, digits) in enumerate(pairs):
        a, b = sorted((a % len(values), b % len(values)), key=lambda i: -values[i][0])
        high, low = values[a][0], values[b][0]
        said.append(f"'r{a}' - 'r{b}' = {printed(high - low, digits, rule)}")
        said.append(f"mean('r{a}', 'r{b}') = {printed((high + low) / 2, digits, rule)}")
        if low:
            said.append(f"'r{a}' / 'r{b}' = {printed(high / low, digits, rule)}")
        if high > low:
            tied.append(Relation(f"t{n}", "s", f"'r{a}' > 'r{b}'"))
    made = [Claim(f"c{i}", "s", holds) for i, holds in enumerate(said)]
    found = list(joint.check(paper(*cells, claims=made, relations=tied)))
    assert {one.status for one in found} == {"consistent"}
