import re
from decimal import Decimal

import pytest

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.grammar import Aggregate, Arithmetic, Cells, Number, parse
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec.model import Claim, Paper, Table
from tests.benchmark.audit.small_paper import cell


def table(id, rows, columns, values, units=None):
    units = units or ["%"] * len(columns)
    cells = [
        cell(text, row, column, table=id, unit=unit)
        for row, line in zip(rows, values, strict=True)
        for column, text, unit in zip(columns, line, units, strict=True)
    ]
    return Table(id, "t", "1", "empirical", "accuracy", "%", paper="p", cells=tuple(cells))


MAIN = table(
    "3",
    ["Ours|A", "Ours|B", "Base|A", "Base|B"],
    ["early", "late"],
    [["5.0", "9.0"], ["4.0", "8.0"], ["3.0", "4.0"], ["2.0", "—"]],
)
OTHER = table("4", ["Ours|A", "Base|A"], ["early", "first"], [["1.0", "2.0"], ["3.0", "4.0"]])
MIXED = table("5", ["x", "y"], ["acc", "f1"], [["50.0", "0.5"], ["60.0", "—"]], ["%", ""])
WORDS = table("6", ["x"], ["a"], [["yes"]])
FIGURE = table("figure-4", [], [], [])
PAPER = Paper("p", "t", "a", 2023, {}, tables=(MAIN, OTHER, MIXED, WORDS, FIGURE))


def texts(holds, of=MAIN):
    return [one.text for one in bind(Claim("c", "says", holds), of, PAPER)]


def refused(holds, of=MAIN):
    with pytest.raises(SpecError) as caught:
        bind(Claim("the-claim", "says", holds), of, PAPER)
    assert "the-claim" in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_precedence_and_association_are_those_of_arithmetic():
    side = parse("1 - 2 * 'a' / 4 - (5 - 6) > 0").sides[0]
    product = Arithmetic("*", Number(Decimal(2)), Cells((("a",),)))
    inner = Arithmetic("/", product, Number(Decimal(4)))
    brackets = Arithmetic("-", Number(Decimal(5)), Number(Decimal(6)))
    expected = Arithmetic("-", Arithmetic("-", Number(Decimal(1)), inner), brackets)
    assert side == expected


def test_numbers_keep_their_digits_and_signs():
    chain = parse("'a' ~ 1.50 −5.90")
    assert chain.relations[0][1] == Decimal("1.50")
    assert str(chain.sides[1].value) == "-5.90"


def test_lists_take_their_columns_and_table_and_functions_take_a_list():
    cells = parse("'a|b', 'c|*' at 'x', 'y|z' in '11' > 1").sides[0]
    assert cells == Cells((("a", "b"), ("c", "*")), (("x",), ("y", "z")), "11")
    largest = parse("max('a', 'b' at 'x') > 1").sides[0]
    assert largest == Aggregate("max", Cells((("a",), ("b",)), (("x",),), whole=True))


@pytest.mark.parametrize(("text", "position", "said"), [
    ("'a' > ", 6, "expected a number"),
    ("'a' 'b'", 5, "expected a comparison"),
    ("'a'", 4, "expected a comparison"),
    ("'a' > 'b", 7, "closing quote"),
    ("'a' > best('b')", 7, "not a function"),
    ("'a' > ('b' + 2", 15, "expected ')'"),
    ("'a' ~ 'b'", 7, "tolerance"),
    ("'a' > 'b' at 'x' at 'y'", 18, "only one 'at'"),
    ("'a' > 3 at x", 12, "expected a quoted column"),
    ("'a' > $", 7, "no meaning"),
    ("'a' > 3 at 'x' > 4", 16, "expected the end"),
])  # fmt: skip
def test_errors_name_the_position(text, position, said):
    with pytest.raises(SpecError, match=f"position {position}:") as caught:
        parse(text)
    assert said in str(caught.value)


STANDS_FOR = """
# Every pair is compared, and a final 'at' holds for all.
'Ours|*' > 'Base|A' at 'late'
    Ours|A @ late > Base|A @ late; Ours|B @ late > Base|A @ late
# Several columns are compared column by column,
'Ours|A' > 'Ours|B' at 'early', 'late'
    Ours|A @ early > Ours|B @ early; Ours|A @ late > Ours|B @ late
'Ours|A' - 'Ours|B' > 0.5 at 'early', 'late'
    Ours|A @ early - Ours|B @ early > 0.5; Ours|A @ late - Ours|B @ late > 0.5
# all of them without any 'at',
'Ours|A' > 'Ours|B'
    Ours|A @ early > Ours|B @ early; Ours|A @ late > Ours|B @ late
# and in every pair where sides differ.
'Ours|A' at 'late' > 'Base|A' at 'early', 'late'
    Ours|A @ late > Base|A @ early; Ours|A @ late > Base|A @ late
# An 'at' behind a number holds for all, else for the lists on its left.
'Ours|A' - 'Base|A' < 9 at 'late'
    Ours|A @ late - Base|A @ late < 9
'Ours|A' - 'Base|A' at 'early' > 'Ours|A' - 'Base|A' at 'late'
    Ours|A @ early - Base|A @ early > Ours|A @ late - Base|A @ late
# A function takes the columns in its parentheses together, and others one by one.
mean('Ours|A' at 'early', 'late') > 1
    mean(Ours|A @ early, Ours|A @ late) > 1
max('Ours|*') > 'Base|A' at 'early', 'late'
    max(Ours|A @ early, Ours|B @ early) > Base|A @ early
    max(Ours|A @ late, Ours|B @ late) > Base|A @ late
# A chain compares neighbours.
'Ours|A' > 'Ours|B' > 'Base|A' at 'late'
    Ours|A @ late > Ours|B @ late; Ours|B @ late > Base|A @ late
# Wildcards pass over dashes, but names do not.
'Ours|A' > 'Base|*' at 'late'
    Ours|A @ late > Base|A @ late
'Ours|A' > 'Base|B' at 'late'
    Ours|A @ late > Base|B @ late
# Tables may be mixed.
'Ours|A' at 'early' > 'Ours|A' at 'first' in '4'
    Ours|A @ early > Ours|A @ first (table 4)
"""
COMPARED = re.sub("#.*\n", "", STANDS_FOR).strip()


@pytest.mark.parametrize("case", re.split(r"\n(?! )", COMPARED))
def test_a_claim_stands_for_these_comparisons(case):
    holds, *comparisons = re.split("(?:\n|;) +", case)
    assert texts(holds) == comparisons


def test_a_list_without_column_beside_lists_with_one_is_an_error():
    assert "'Base|A'" in refused("'Ours|A' at 'late' > 'Base|A'")


def test_a_figure_without_cells_may_compare_cells_of_tables():
    assert texts("'Ours|A' > 'Base|A' at 'early' in '3'", FIGURE) == [
        "Ours|A @ early (table 3) > Base|A @ early (table 3)"
    ]
    assert "prints no values" in refused("'Ours|A' > 'Base|A' at 'early'", FIGURE)


@pytest.mark.parametrize(("holds", "said"), [
    ("'Ours|C' > 1 at 'late'", "nearest: 'Ours|"),
    ("'Ours' > 1 at 'late'", "1 label part(s) where table 3 has 2"),
    ("'Ours|A' > 1 at 'latest'", "nearest: 'late'"),
    ("'Ours|A' > 1 at 'late' in '33'", "nearest: '3'"),
])  # fmt: skip
def test_a_pattern_without_a_cell_names_the_nearest(holds, said):
    assert said in refused(holds)


@pytest.mark.parametrize("holds", [
    "'x' at 'acc' > 'x' at 'f1'",
    "'x' at 'acc' + 'x' at 'f1' > 1",
    "'x' at 'acc' * 'y' at 'acc' > 1",
    "'x' at 'acc' / 'y' at 'acc' > 'y' at 'acc'",
    "max('x' at '*') > 1",
])  # fmt: skip
def test_units_are_not_mixed(holds):
    assert "%" in refused(holds, MIXED)


def test_ratios_of_one_unit_are_plain_numbers():
    assert texts("'y' at 'acc' / 'x' at 'acc' > 'x' at 'f1'", MIXED)


def test_cells_that_hold_words_are_refused():
    assert "holds words" in refused("'x' > 1 at 'a'", WORDS)
