from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from fedrepro.benchmark import analytic
from fedrepro.benchmark.analytic import Analytic, FormulaReading
from fedrepro.benchmark.audit.checks import (
    best_round,
    claims,
    formulas,
    granularity,
    mean_and_sd,
    relations,
    repeats,
    same_experiment,
)
from fedrepro.benchmark.audit.checks.granularity import on_grid
from fedrepro.benchmark.audit.expressions import computed_of
from fedrepro.benchmark.audit.findings import Finding
from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.spec.model import Cell, Claim, Relation
from fedrepro.benchmark.spec.printed import RULES
from tests.benchmark.audit.small_paper import cell, on_clients, paper, rows, trials

KNOWN = {"count": 10, "test_size": 50}


def wrong(findings: Iterable[Finding]) -> list[Finding]:
    return [one for one in findings if one.status == "inconsistent"]


@pytest.mark.parametrize(
    ("result", "part"), [("2.1 ± 0.8", "the mean"), ("2.0 ± 0.4", "the standard deviation")]
)
def test_mean_and_sd_that_trials_cannot_give(result: str, part: str) -> None:
    made = paper(*trials(["1.00", "2.00", "3.00"]), cell(result, column="mean"))
    (found,) = wrong(mean_and_sd.check(made))
    assert part in found.statement
    assert ("1", ("A",), ("mean",)) in found.cells


def test_rows_with_different_kinds_of_sd_are_undecidable() -> None:
    single = [one for row in "AB" for one in trials(["1.00", "2.00", "3.00"], row=row)]
    means = rows({"A": "2.00 ± 0.82", "B": "2.00 ± 1.00"}, column="mean")
    (found,) = mean_and_sd.check(paper(*single, *means))
    assert found.status == "undecidable"
    assert found.computed.endswith("ddof 0 fits 1 and ddof 1 fits 1 of 2 rows")


def test_value_off_the_grid_of_its_neighbours() -> None:
    texts = ["50.20", "40.60", "30.80", "70.00", "60.50"]
    (found,) = wrong(granularity.check(paper(*on_clients(texts, KNOWN))))
    assert found.cells == (("1", ("4",), ("C",)),)
    assert found.computed == "302/500 = 60.4000 and 303/500 = 60.6000"


def test_wrong_number_of_images_is_doubted_not_blamed_on_the_values() -> None:
    (found,) = granularity.check(paper(*on_clients(["50.33", "40.67", "30.20"], KNOWN)))
    assert found.status == "undecidable"


def test_one_experiment_with_two_values() -> None:
    first = rows({"A": "84.6 ± 0.2", "B": "70.1 ± 0.1"})
    second = rows({"A": "84.5", "B": "70.1"}, table="2")
    (found,) = wrong(same_experiment.check(paper(*first, *second)))
    assert found.tables == ("1", "2")
    assert found.published == "84.6 ± 0.2 (table 1), 84.5 (table 2)"


def test_single_run_and_mean_of_runs_are_not_held_against_each_other() -> None:
    first = rows({"A": "76.69 ± 0.47", "B": "42.73 ± 0.69"})
    second = rows({"A": "76.80", "B": "44.13"}, table="2")
    assert list(same_experiment.check(paper(*first, *second))) == []


def test_tables_that_never_agree_may_print_other_runs() -> None:
    (found,) = same_experiment.check(paper(cell("1.0"), cell("2.0", table="2")))
    assert found.status == "undecidable"


def test_best_below_last() -> None:
    last, best = cell("80.2", column="last", at=9), cell("80.1", column="best", at="best")
    (found,) = wrong(best_round.check(paper(last, best)))
    assert found.published == "best 80.1, round 9 80.2"
    less = [replace(one, metric="false_negative_ratio") for one in (last, best)]
    assert wrong(best_round.check(paper(*less))) == []


@pytest.mark.parametrize(("claim", "status"), [
    (Claim("c", "s", "'A' - 'B' = 8.35"), "inconsistent"),
    (Claim("c", "s", "'A' - 'B' = 8.08"), "consistent"),
    (Claim("c", "s", "'A' - 'B' = 8.0"), "inconsistent"),
    (Claim("c", "s", "'A' < 'B'"), "inconsistent"),
    (Claim("c", "s", "'A' < 'B' * 2", vague="close"), "consistent"),
    (Claim("c", "s", "'A' < 'B' + 5", vague="close"), "undecidable"),
    (Claim("c", "s", "'A' ~ 5 'B'"), "undecidable"),
    (Claim("c", "s", "'8' > 7.6"), "undecidable"),
    # Counts are not rounded.
    (Claim("c", "s", "'count 8' = 7"), "inconsistent"),
    (Claim("c", "s", "'count 8' > 7"), "consistent"),
    (Claim("c", "s", "'count 8' + 1 = 9"), "consistent"),
    (Claim("c", "s", "'count 100' / 16 = 6"), "consistent"),
    (Claim("c", "s", "'count 8e1' > 79"), "undecidable"),
])  # fmt: skip
def test_statement_of_the_text(claim: Claim, status: str) -> None:
    cells = rows({"A": "76.69", "B": "68.61", "8": "8"})
    cells += [cell(x, f"count {x}", kind="descriptive", unit="") for x in ("8", "100", "8e1")]
    (found,) = claims.check(paper(*cells, claims=[claim]))
    assert found.status == status


@pytest.mark.parametrize(("first", "other", "status"), [
    ("'A' - 'B' = 1", "'A' - 'B' = 2", "consistent"),
    ("'A' - 'B' = 1", "'A' - 'B' = 3", "inconsistent"),
    ("'A' > 5", "'C' > 5", "undecidable"),  # nothing is printed in C
])  # fmt: skip
def test_sentence_is_judged_by_all_of_its_readings(first: str, other: str, status: str) -> None:
    made = [Claim("c", "s", first), Claim("d", "s", other, reading_of="c")]
    (found,) = claims.check(paper(*rows({"A": "3.0", "B": "1.0", "C": ""}), claims=made))
    assert found.status == status
    assert "2 interpretations" in found.statement


def test_factor_between_two_cells_of_one_row() -> None:
    cells = [
        cell(text, row=row, column=column, unit="")
        for row, bits in (("A", "25e10"), ("B", "25e9"))
        for column, text in (("size", "26e8"), ("bits", bits))
    ]
    tied = Relation("r", "s", "'{row}' at 'bits' = '{row}' at 'size' * 32 * 3")
    (found,) = wrong(relations.check(paper(*cells, relations=[tied])))
    assert {key[1] for key in found.cells} == {("B",)}
    assert found.computed.endswith("the left side is 0.1 times the right one")


@pytest.mark.parametrize(("holds", "computed"), [
    ("'A' > 'B'", "30 - 40 = -10, with rounding -11 to -9"),
    ("'A' > 'B' - 2", "30 - (40 - 2) = -8, with rounding -9 to -7"),
    ("'A' = 'B' - 5", "30 stands for 29.5 to 30.5; 40 - 5 = 35, with rounding 34.5 to 35.5"),
    ("'A' / 'zero' > 1", "a divisor may be zero"),
])  # fmt: skip
def test_the_arithmetic_of_a_statement_is_shown(holds: str, computed: str) -> None:
    made = paper(*rows({"A": "30", "B": "40", "zero": "0"}))
    (comparison,) = bind(Claim("c", "s", holds), made.tables[0], made)
    assert computed_of(comparison) == computed


def test_row_that_repeats_a_row_spread_over_other_tables() -> None:
    def row(name: str, table: str, texts: dict[int, str]) -> list[Cell]:
        return [
            cell(text, name, f"{i}", table=table, experiment={"method": name, "clients": {"n": i}})
            for i, text in texts.items()
        ]

    made = paper(
        *row("ablation", "9", {0: "85.44", 1: "79.44"}),
        *row("known", "2", {0: "85.44"}),
        *row("known", "3", {1: "79.44"}),
        *row("other", "2", {0: "82.10"}),
        *row("other", "3", {1: "70.30"}),
    )
    (found,) = repeats.check(made)
    assert found.status == "undecidable"
    assert found.tables == ("9", "2", "3")
    assert len(found.cells) == 4


def test_formula_that_gives_another_number_is_left_to_the_reading() -> None:
    experiment = {
        "method": "fedavg",
        "clients": {"image_size": 96, "channels": 3},
        "encoder": {"name": "cnn"},
    }
    cells = [
        cell(text, row=text, kind="analytic", unit="M", formula="parameters", experiment=experiment)
        for text in ("2.378304", "2.5")
    ]
    assert [one.status for one in formulas.check(paper(*cells))] == ["consistent", "undecidable"]


def test_fit_under_a_reading_that_fails_elsewhere_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def recomputed(cell: Cell) -> Analytic:
        # 'A' fits one of three quantities, 'B' two.
        values = {"1": ("1", "7"), "2": ("8", "2"), "3": ("9", "3")}[cell.printed.text]
        readings = tuple(
            FormulaReading(name, Decimal(value), value == cell.printed.text)
            for name, value in zip("AB", values, strict=True)
        )
        return Analytic(readings[0].value, working=("w",), readings=readings)

    monkeypatch.setattr(analytic, "recompute", recomputed)
    cells = [cell(text, row=text, kind="analytic", unit="", formula="parameters") for text in "123"]
    found = list(formulas.check(paper(*cells)))
    assert [one.status for one in found] == ["undecidable", "consistent", "consistent"]
    assert "'A' fits 1 of 3 quantities" in found[0].statement


@pytest.mark.parametrize(("bits", "rounds", "total", "status"), [
    ("45e8", "100", "44e10", "inconsistent"),  # 44.5e8 prints as one of the two by any rule
    ("44e8", "100", "45e10", "inconsistent"),
    ("45e8", "100", "445e9", "consistent"),
    ("12e8", "1e2", "11e10", "consistent"),
])  # fmt: skip
def test_products_that_only_touch_need_one_rule_that_reaches_them(
    bits: str, rounds: str, total: str, status: str
) -> None:
    cells = [
        cell(text, column=column, unit="", kind="descriptive")
        for column, text in (("bits", bits), ("rounds", rounds), ("total", total))
    ]
    tied = Relation("r", "s", "'{row}' at 'total' = '{row}' at 'bits' * '{row}' at 'rounds'")
    (found,) = relations.check(paper(*cells, relations=[tied]))
    assert found.status == status
    assert ("both could only be" in found.computed) == (status == "inconsistent")


@pytest.mark.parametrize(
    ("text", "on"), [("12.4", True), ("12.5", False), ("12.6", True), ("12.7", False)]
)
def test_a_tie_prints_by_half_up_or_half_to_even(text: str, on: bool) -> None:
    # Of 2000 images 249 are 12.45 %, the upper end of 12.4; 251, 253, 255 those of the others.
    upper = Fraction(cell(text).bounds[1])
    reached = [cell(text).closed_ends(rule)[1] for rule in RULES]
    assert any(on_grid((upper, upper), 2000, (True, end)) for end in reached) is on
