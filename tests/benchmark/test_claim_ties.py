"""A comparison that is shown to be closer than the margin, where it is printed further apart."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.context import ClaimContext, fallen_trials
from fedrepro.benchmark.claims.more_trials import trials_needed
from fedrepro.benchmark.claims.nodes import key_of
from fedrepro.benchmark.claims.ties import tie_margin
from fedrepro.benchmark.claims.trials import judge_claims
from fedrepro.benchmark.spec.model import Cell, Claim, Margin, Paper, Readout, Table
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.stats.looks import Looks, shares
from fedrepro.reports import evidence
from tests.benchmark.paired_trials import FAMILIES

PRINTED = {"a": "60.0", "b": "50.0", "c": "40.0", "d": "59.0", "e": "", "f": "70.0", "g": "55.0"}
METRIC = {"g": "accuracy_sd"}
CELLS = {
    row: Cell(
        "p", "3", (row,), ("x",), "empirical", METRIC.get(row, "accuracy"), "%",
        Printed.parse(text), Readout(), {},
    )
    for row, text in PRINTED.items()
}  # fmt: skip


def bound(*holds, cells=None, every_trial=False):
    cells = tuple((cells or CELLS).values())
    table = Table(
        "p", "3", "t", "1", "empirical", "accuracy", "%", cells, (), None, None, None, (), (), None,
        Path("3.toml"),
    )  # fmt: skip
    paper = Paper("p", "t", "a", 2023, (table,), {}, (), Path("paper.toml"))
    claims = [Claim(f"c{i}", "s", one, every_trial=every_trial) for i, one in enumerate(holds)]
    return [(claim, bind(claim, table, paper)) for claim in claims]


def context(margin=2.0, scaled=(), looks=None, **trials):
    values = {
        key_of(CELLS[row]): {seed: float(x) for seed, x in enumerate(given)}
        for row, given in trials.items()
    }
    keys = frozenset(key_of(CELLS[row]) for row in scaled)
    return ClaimContext(values, margin, "%", keys, {}, looks=looks or {}, metric="accuracy")


def one(holds, every_trial=False, cells=None, **given):
    return judge_claims(bound(holds, cells=cells, every_trial=every_trial), context(**given))[0]


def noise(seed, center, sd=1.0, n=10):
    return np.random.default_rng(seed).normal(center, sd, n)


def test_a_tie_is_two_one_sided_tests_of_t_and_of_sign_flips():
    a, b = noise(1, 70, 2), noise(51, 70.3, 1.2)
    found = one("'a' > 'b'", a=a, b=b)
    by_t, *_ = ttost_paired(a, b, -2.0, 2.0)
    flips = [
        stats.permutation_test(
            (side,), np.mean, permutation_type="samples", alternative="greater"
        ).pvalue
        for side in (a - b + 2.0, 2.0 - (a - b))
    ]
    comparison = found.comparisons[0]
    assert (abs(a - b) > 2.0).any(), "else flips are used up and t decides alone"
    assert comparison.p_tied == pytest.approx(max(by_t, *flips), abs=1e-12)
    assert (comparison.tie_margin, found.p_tied) == (2.0, comparison.p_tied)
    assert (found.word, found.shown, found.opposite) == ("TIED", 0, 0)
    assert found.reason == (
        f"Both sides are shown to be less than 2 apart (p = {found.p_tied:.3f}, corrected); "
        "they are printed further apart."
    )
    assert one("'b' < 'a'", a=a, b=b).comparisons[0].p_tied == comparison.p_tied


def test_on_a_scaled_run_the_word_refutes_no_paper():
    assert one("'a' > 'b'", a=noise(1, 70), b=noise(2, 70), scaled="ab").word == "TIED HERE"


@pytest.mark.parametrize(
    "holds",
    [
        "'a' > 'd'",  # printed closer than the margin themselves
        "'b' > 'a'",  # printed the other way round
        "'a' > 'e'",  # not printed
        "'f' > 'g'",  # of another metric than the table's margin is
        "'a' - 'b' > 0",  # a least lead is stated
        "'a' ~ 20 'b'",
        "'f' > max('b', 'c')",
        "'f' - min('b', 'c') > 'c'",
    ],
)
def test_a_tie_is_no_answer(holds):
    trials = {row: noise(i, 70, 0.1) for i, row in enumerate(PRINTED)}
    found = one(holds, **trials)
    assert {each.p_tied for each in found.comparisons} == {None}
    assert found.p_tied is None
    assert found.word not in ("TIED", "TIED HERE")


@pytest.mark.parametrize("holds", ["'a' / 'b' > 'b' / 'a'", "'a' * 'b' > 'b' * 'c'"])
def test_the_margin_of_cells_is_none_of_their_ratios_and_products(holds):
    bare = {row: replace(cell, unit=None) for row, cell in CELLS.items()}
    (comparison,) = bound(holds, cells=bare)[0][1]
    given = replace(context(margin=0.1), unit=None)
    assert tie_margin(comparison, given) is None
    (plain,) = bound("'a' > 'b'", cells=bare)[0][1]
    assert tie_margin(plain, given) == 0.1, "it is not the unit that they lack"


def test_the_margin_of_a_table_is_none_of_cells_of_another_table_or_unit():
    (comparison,) = bound("'a' > 'b'")[0][1]
    assert tie_margin(comparison, context()) == 2.0
    assert tie_margin(comparison, replace(context(), unit="")) is None
    elsewhere = replace(comparison, right=replace(comparison.right, own=False))
    assert tie_margin(elsewhere, context()) is None


def test_a_margin_of_a_cell_is_in_its_own_unit():
    own = {
        row: replace(CELLS[row], unit="s", margin=Margin(1.5, "r"), metric="time") for row in "fg"
    }
    assert one("'f' > 'g'", cells={**CELLS, **own}, f=noise(1, 70), g=noise(2, 70)).word == "TIED"


def test_without_a_margin_or_of_every_trial_no_tie_is_asked_for():
    pair = {"a": noise(1, 70), "b": noise(2, 70)}
    assert one("'a' > 'b'", margin=None, **pair).word == "UNRESOLVED"
    assert one("'a' > 'b'", every_trial=True, **pair).p_tied is None


def test_a_cell_of_another_metric_may_have_a_margin_of_its_own():
    own = {row: replace(CELLS[row], margin=Margin(1.5, "r")) for row in "fg"}
    found = one("'f' > 'g'", cells={**CELLS, **own}, f=noise(1, 70), g=noise(2, 70))
    assert (found.comparisons[0].tie_margin, found.word) == (1.5, "TIED")


def test_printed_further_apart_means_for_all_values_that_print_so():
    cells = {**CELLS, "d": replace(CELLS["d"], printed=Printed.parse("57.9"))}
    (comparison,) = bound("'a' > 'd'", cells=cells)[0][1]
    assert tie_margin(comparison, context(margin=1.9)) == 1.9
    assert tie_margin(comparison, context(margin=2.0)) is None, "59.95 - 57.95 prints so"


def test_the_narrowest_margin_of_its_cells_is_that_of_a_tie():
    own = replace(CELLS["a"], margin=Margin(0.5, "r"))
    found = one("'a' > 'b'", cells={**CELLS, "a": own}, a=noise(1, 70), b=noise(2, 70))
    assert (found.comparisons[0].tie_margin, found.word) == (0.5, "UNRESOLVED")


def test_differences_of_differences_may_tie():
    trials = {row: noise(i, 70, 0.3) for i, row in enumerate("abcd")}
    assert one("'a' - 'c' > 'd' - 'b'", **trials).word == "TIED"


def test_what_is_shown_stays_so_however_small_the_difference():
    b = noise(1, 70)
    small = noise(2, 0.5, 0.1)
    holds, opposite = one("'a' > 'b'", a=b + small, b=b), one("'a' > 'b'", a=b - small, b=b)
    assert max(holds.p_tied, opposite.p_tied) < 0.001
    assert (holds.word, opposite.word) == ("HOLDS", "REVERSED")


def test_a_claim_is_tied_where_all_of_its_comparisons_are():
    a = noise(1, 70)
    near, nearer, far = a + noise(2, 0, 0.9), a + noise(5, 0, 0.5), a + noise(3, -9)
    both = one("'a' > 'b', 'c'", a=a, b=near, c=nearer)
    assert both.word == "TIED"
    assert both.p_tied == both.comparisons[0].p_tied > both.comparisons[1].p_tied
    assert both.decisive is both.comparisons[0]
    assert both.reason.startswith("Both sides of all 2 comparisons are shown to be less than 2")
    half = one("'a' > 'b', 'c'", a=a, b=near, c=far)
    assert (half.word, half.shown, half.p_tied) == ("UNRESOLVED", 1, half.comparisons[1].p_tied)
    some = one("'a' > 'b', 'c'", a=a, b=a - 0.5 - noise(4, 0, 0.1), c=nearer)
    assert (some.word, some.shown) == ("TIED", 1), "one is shown, but not the claim"
    unasked = one("'a' > 'b', 'd'", a=a, b=near, d=nearer)
    assert (unasked.word, unasked.p_tied) == ("UNRESOLVED", None)
    assert one("'a' > 'b', 'c'", a=a, b=near, c=a + 9 + noise(4, 0, 0.1)).word == "PARTLY"


def spread_about(mean, sd, n=10):
    """Differences of exactly this mean and spread, symmetric about it."""
    steps = np.linspace(-1, 1, n)
    return mean + steps * sd / steps.std(ddof=1)


CLAIMS = ("'a' > 'b'", "'f' > 'c'")


def two_claims(first, second):
    """Words of two claims by their differences, together."""
    level = np.full(10, 70.0)
    given = context(a=level + first, b=level, f=level + second, c=level)
    return judge_claims(bound(*CLAIMS), given)


def test_a_tie_is_corrected_over_the_claims_of_the_paper_that_are_asked():
    near, open_too = spread_about(0, 3.2), spread_about(0, 8)
    alone = one(CLAIMS[0], a=70 + near, b=np.full(10, 70.0))
    assert 0.025 < alone.p_tied <= 0.05
    assert alone.word == "TIED"
    together = two_claims(near, open_too)
    assert [each.word for each in together] == ["UNRESOLVED", "UNRESOLVED"]
    assert together[0].p_tied == alone.p_tied
    assert [each.word for each in two_claims(near, near)] == ["TIED", "TIED"]


@pytest.mark.parametrize(
    ("second", "every_trial", "word"),
    [
        ("'f' > 'c'", False, "UNRESOLVED"),
        ("'f' > 'c'", True, "TIED"),
        ("'f' ~ 1 'c'", False, "TIED"),
    ],
)
def test_a_tie_is_corrected_for_claims_that_await_trials_if_they_may_be_ties(
    second, every_trial, word
):
    first = bound(CLAIMS[0])
    awaiting = bound("'a' > 'b'", second, every_trial=every_trial)[1:]
    given = context(a=70 + spread_about(0, 3.2), b=np.full(10, 70.0))
    to_come = frozenset(key_of(CELLS[row]) for row in "cf")
    assert judge_claims(first + awaiting, given)[0].word == "TIED"
    found = judge_claims(first + awaiting, replace(given, awaited=to_come))
    assert [each.word for each in found] == [word, "NOT RUN"]


@pytest.mark.parametrize(("lead", "word"), [(0.5, "HOLDS"), (-0.5, "REVERSED")])
def test_a_claim_whose_direction_is_shown_eases_no_tie_of_another(lead, word):
    near, small = spread_about(0, 3.2), spread_about(lead, 0.2)
    found = two_claims(near, small)
    assert found[1].p_tied < 1e-6
    assert [each.word for each in found] == ["UNRESOLVED", word]


def test_looks_before_the_last_have_spent_their_share_of_a_tie():
    a, b = noise(1, 70, 1, 20), noise(2, 70, 1, 20)
    looks = {"c0": Looks((10, 20), 20)}
    looked = one("'a' > 'b'", a=a, b=b, looks=looks)
    at_ten, at_twenty = (one("'a' > 'b'", a=a[:n], b=b[:n]).p_tied for n in (10, 20))
    first, second = shares((10, 20), 20)
    assert looked.p_tied == pytest.approx(min(at_ten / first, at_twenty / second, 1.0))
    assert looked.word == "TIED"
    early = np.concatenate([spread_about(0, 3.1), spread_about(0, 9)])
    found = one("'a' > 'b'", a=70 + early, b=np.full(20, 70.0), looks=looks)
    assert one("'a' > 'b'", a=70 + early[:10], b=np.full(10, 70.0)).word == "TIED"
    assert found.word == "UNRESOLVED", "the first look has no more than its share"


def test_a_tie_that_an_early_look_saw_is_none_once_means_drew_apart():
    early = np.concatenate([spread_about(0, 0.5), spread_about(12, 20)])
    looks = {"c0": Looks((10, 20), 20)}
    found = one("'a' > 'b'", a=70 + early, b=np.full(20, 70.0), looks=looks)
    assert found.comparisons[0].mean == pytest.approx(6)
    assert (found.word, found.p_tied) == ("UNRESOLVED", 1.0)


def test_trials_beyond_the_declared_ones_do_not_count():
    more = np.concatenate([spread_about(0, 0.5), spread_about(12, 20)])
    looks = {"c0": Looks((10,), 10)}
    assert one("'a' > 'b'", a=70 + more, b=np.full(20, 70.0), looks=looks).word == "TIED"


@pytest.mark.parametrize("last", [100.0, 99.9])
def test_trials_of_which_most_are_equal_show_no_tie(last):
    a, b = [100.0] * 9 + [last], [100.0] * 10
    found = one("'a' > 'b'", a=a, b=b)
    assert (found.word, found.p_tied) == ("UNRESOLVED", 1.0)
    assert found.trials_needed == one("'a' > 'd'", a=a, d=b).trials_needed, "no tie is near"


def test_a_cell_that_may_fall_as_others_do_is_not_yet_tied():
    rng = np.random.default_rng(0)
    a, b, c, d = (70 + rng.normal(0, 0.5, 5) for _ in range(4))
    d[2] -= 30
    known = context(a=a, b=b, c=c, d=d)
    fallen = fallen_trials([CELLS[row] for row in "abcd"], known.values)
    free, guarded = (
        judge_claims(bound("'a' > 'b'"), replace(known, fallen=each))[0] for each in ({}, fallen)
    )
    assert (free.word, guarded.word) == ("TIED", "UNRESOLVED")


def test_an_open_claim_says_how_many_trials_would_show_a_tie():
    a, b = noise(3, 70, 2), noise(4, 70, 2)
    found = one("'a' > 'b'", a=a, b=b)
    d, n = a - b, found.trials_needed
    error = d.std(ddof=1) / np.sqrt([n - 1, n])
    p = stats.t.sf((2.0 - abs(d.mean())) / error, [n - 2, n - 1])
    assert found.word == "UNRESOLVED"
    assert p[0] > 0.05 >= p[1]
    also = one("'a' > 'b', 'd'", a=a, b=b, d=b)
    assert also.trials_needed != n, "where a tie is no answer of one, it is none of the claim"
    elementary, counted = bound("'a' > 'b'")[0][1], replace(found.comparisons[0], exact=True, p=1.0)
    looks = Looks((10,), 10)
    assert trials_needed(elementary, found.comparisons, looks) == n
    both = trials_needed((*elementary,) * 2, (*found.comparisons, counted), looks)
    assert both is None or both > n, "a count that is not as stated is no tie"


@pytest.mark.parametrize(("margin", "said"), [(2.0, "2"), (0.006, "0.006")])
def test_a_report_says_what_a_tie_stands_on(margin, said):
    a, b = noise(1, 70, margin / 2), noise(2, 70, margin / 2)
    found = one("'a' > 'b'", margin=margin, a=a, b=b)
    assert evidence.line(found).endswith(f"p < 0.001 of less than {said} apart")
    assert f"less than {said} apart" in found.reason


@pytest.mark.parametrize("tables", [300, pytest.param(5_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [5, 10, 20, 40])
@pytest.mark.parametrize("family", FAMILIES)
def test_means_that_are_the_margin_apart_are_rarely_called_a_tie(family, n, tables):
    rng = np.random.default_rng(9)
    claim, words = bound("'a' > 'b'"), Counter()
    for a, b in FAMILIES[family](rng, (tables, 2, n)):
        words[judge_claims(claim, context(margin=1.0, a=a + 1.0, b=b))[0].word] += 1
    assert words["TIED"] / tables <= 0.05 + 2.9 * np.sqrt(0.05 * 0.95 / tables)
