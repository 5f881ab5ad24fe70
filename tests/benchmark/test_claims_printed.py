import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.grammar import Arithmetic
from fedrepro.benchmark.claims.printed import range_over, support
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec.model import Claim
from tests.benchmark.audit.small_paper import cell, paper


def comparisons(holds, **values):
    made = paper(*(cell(text, row) for row, text in values.items()))
    return bind(Claim("c", "s", holds), made.tables[0], made)


def word(holds, **values):
    return support(comparisons(holds, **values))[0]


@pytest.mark.parametrize(
    ("holds", "a", "b", "expected"),
    [
        ("'a' > 'b'", "41.21", "41.19", "supported"),
        ("'a' > 'b'", "41.20", "41.20", "undecidable"),
        ("'a' > 'b'", "41.2", "41.22", "undecidable"),
        ("'a' > 'b'", "41.20", "41.22", "contradicted"),
        ("'a' < 'b'", "41.20", "41.22", "supported"),
        ("'a' < 'b'", "41.22", "41.20", "contradicted"),
        ("'a' - 'b' = 5.90", "76.80", "70.90", "supported"),
        ("'a' - 'b' = 5.91", "76.80", "70.90", "supported"),
        ("'a' - 'b' = 5.92", "76.80", "70.90", "contradicted"),
        ("'a' ~ 1.5 'b'", "41.0", "42.2", "supported"),
        ("'a' ~ 1.5 'b'", "41.0", "42.5", "undecidable"),
        ("'a' ~ 1.5 'b'", "41.0", "42.7", "contradicted"),
        ("'a' / 'b' > 2", "4.2", "2.0", "supported"),
        ("'a' / 'b' > 2", "4.0", "2.0", "undecidable"),
        ("'a' > 'b'", "41.20", "", "not printed"),
        ("'a' > 'b'", "41.20", "—", "not printed"),
        ("1 / ('a' - 'b') > 2", "4.0", "4.0", "undecidable"),
    ],
)
def test_rounding_decides_what_the_print_supports(holds, a, b, expected):
    # A number over a value in % has no unit of its own here, so the division is by a ratio.
    holds = holds.replace("('a' - 'b')", "(('a' - 'b') / 'b')")
    assert word(holds, a=a, b=b) == expected


def test_a_claim_names_the_comparison_that_decides_or_is_tightest():
    found, reason = support(comparisons("'a' > 'b', 'c'", a="5.0", b="4.0", c="6.0"))
    assert found == "contradicted"
    assert "5.0 > 6.0" in reason
    assert "1 of 2" in reason
    assert "5.0 > 4.8" in support(comparisons("'a' > 'b', 'c'", a="5.0", b="4.0", c="4.8"))[1]


HOLDS = [
    "('a' - 'b') / 'b' * 100 > 3",
    "mean('a', 'b') - min('a', 'b') > max('b', 'c') - 'b'",
    "'a' * 2 - 'b' < 'a' + 'c'",
]


@pytest.mark.parametrize("holds", HOLDS)
@pytest.mark.parametrize("seed", range(12))
def test_support_agrees_with_trying_values_that_print_so(holds, seed):
    rng = np.random.default_rng(seed)
    texts = {name: f"{rng.uniform(3.0, 3.5):.1f}" for name in "abc"}
    (one,) = comparisons(holds, **texts)
    halves = {name: Decimal(text) for name, text in texts.items()}
    steps = [Fraction(k, 4) * Fraction(1, 20) for k in (-4, -2, 0, 2, 4)]
    answers = set()
    for shifts in itertools.product(steps, repeat=3):
        values = {
            name: Fraction(value) + shift
            for (name, value), shift in zip(halves.items(), shifts, strict=True)
        }
        answers.add(_true(holds, values))
    found, _ = support([one])
    if found == "supported":
        assert answers == {True}
    elif found == "contradicted":
        assert answers == {False}
    else:
        # The corners of the box are among the values tried, so both answers must turn up, unless
        # one of them holds with equality only.
        assert answers == {True, False} or _tie(one)


def _true(holds: str, values: dict[str, Fraction]) -> bool:
    text = holds
    for name in values:
        text = text.replace(f"'{name}'", f"values['{name}']")
    mean = lambda *many: sum(many) / len(many)  # noqa: E731
    return eval(text, {"values": values, "mean": mean, "min": min, "max": max})


def _tie(one) -> bool:
    box = {leaf.key: leaf.printed.bounds for leaf in one.leaves}
    return 0 in range_over(Arithmetic("-", one.left, one.right), box)


NEVER = """'a' - 'a' = 0; mean('a', 'b') = mean('a', 'b'); mean('a', 'b') - mean('b', 'a') ~ 1 0;
'a' > 'a'; max('a', 'b') > min('a', 'b'); 'a' - 'b' > -100.5; 'a' < 100.1; 'a' + 'b' > -1;
'a' ~ 1000 'b'; 'a' / 'a' + 'a' / 'b' > 0.9; 'a' / 'b' > -1; ('a' - 'b') / ('a' - 'b') > 0.5;
'a' > 0; 'a' < 100; 'a' - 'b' + 'b' > 0; 'a' / ('b' - 'c') * 0 > -1"""
SOMETIMES = """'a' > 'b'; 'a' < 99.99; 'a' - 'b' > -99.9; 'a' ~ 99 'b'; 'a' - 'b' = 10.0;
'a' - 'b' > 0; ('a' - 'b') / 'b' > -0.99; 'a' / 'b' < 1000; 'a' / ('b' - 'c') > 1"""


@pytest.mark.parametrize("holds", NEVER.split(";"))
def test_a_comparison_that_cannot_fail_is_an_error_of_the_spec(holds):
    with pytest.raises(SpecError, match=r"claim 'c': '.*' cannot fail: "):
        comparisons(holds, a="50.0", b="40.0", c="30.0")


def test_many_cells_that_cancel_cannot_fail():
    cells = {f"x{i}": "50.0" for i in range(40)}
    with pytest.raises(SpecError, match="cannot fail: "):
        comparisons("mean('*') - mean('*') > -1", **cells)


@pytest.mark.parametrize("holds", SOMETIMES.split(";"))
def test_a_comparison_that_some_values_break_is_taken(holds):
    assert comparisons(holds, a="50.0", b="40.0", c="30.0")
