import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.context import ClaimContext
from fedrepro.benchmark.claims.trials import judge_claims, judge_together
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.plain import as_plain
from fedrepro.benchmark.spec.model import Cell, Claim, Margin, Paper, Readout, Table
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.stats.looks import shares

ROWS = ("a", "b", "c", "d")
CELLS = tuple(
    Cell("p", "3", (r,), ("x",), "empirical", "accuracy", "%", Printed.parse("50.0"), Readout(), {})
    for r in ROWS
)
TABLE = Table(
    "p", "3", "t", "1", "empirical", "accuracy", "%", CELLS, (), None, None, None, (), (), None,
    Path("3.toml"),
)  # fmt: skip
PAPER = Paper("p", "t", "a", 2023, (TABLE,), {}, (), Path("paper.toml"))


def key(row):
    return ("3", (row,), ("x",))


def judged(holds, *, margin=2.0, scaled=(), reasons=None, every_trial=False, **trials):
    """Claim results; trials: by row, a list by seed or a mapping."""
    claims = [
        Claim(f"c{i}", "s", one, every_trial=every_trial)
        for i, one in enumerate([holds] if isinstance(holds, str) else holds)
    ]
    values = {
        key(row): dict(given if isinstance(given, dict) else enumerate(given))
        for row, given in trials.items()
    }
    setting = ClaimContext(values, margin, "%", frozenset(map(key, scaled)), reasons or {})
    return judge_claims([(claim, bind(claim, TABLE, PAPER)) for claim in claims], setting)


def one(holds, **given):
    return judged(holds, **given)[0]


def noise(seed, center, sd=1.0, n=5):
    return list(np.random.default_rng(seed).normal(center, sd, n))


def flipped_signs(differences):
    """SciPy's own sign-flip test that the mean is above zero."""
    found = stats.permutation_test(
        (np.asarray(differences),), np.mean, permutation_type="samples", alternative="greater"
    )
    return found.pvalue


def test_a_comparison_is_the_larger_of_the_t_test_and_the_sign_flip_test():
    a, b = noise(1, 60), noise(2, 59.8)
    found = one("'a' > 'b'", a=a, b=b)
    p_t = stats.ttest_rel(a, b, alternative="greater").pvalue
    expected = max(p_t, flipped_signs(np.subtract(a, b)))
    assert found.comparisons[0].p == pytest.approx(expected, abs=1e-12)
    assert found.comparisons[0].p_t == pytest.approx(p_t, abs=1e-12)
    reversed_p = max(1 - p_t, flipped_signs(np.subtract(b, a)))
    assert found.comparisons[0].p_reversed == pytest.approx(reversed_p, abs=1e-12)
    assert found.comparisons[0].differences == pytest.approx(np.subtract(a, b))
    assert found.comparisons[0].interval == pytest.approx(
        DescrStatsW(np.subtract(a, b)).tconfint_mean(0.05)
    )
    flipped = one("'b' < 'a'", a=a, b=b)
    assert flipped.comparisons[0].p == pytest.approx(expected, abs=1e-12)


def test_pairing_shows_what_unpaired_trials_would_not():
    partition = np.array([0, 5, -7, 11, 3.0])
    a, b = 60 + partition + noise(3, 1, 0.1), 60 + partition
    assert one("'a' > 'b'", a=a, b=b).word == "HOLDS"
    shuffled = b[[3, 0, 4, 1, 2]]
    assert one("'a' > 'b'", a=a, b=shuffled).word == "UNRESOLVED"


def test_a_claim_of_every_trial_holds_only_where_no_trial_says_otherwise():
    b = [50.0] * 10

    def word(a, holds="'a' > 'b'"):
        (found,) = judged(holds, a=a, b=b, every_trial=True)
        return found.word, found.p_adjusted

    ahead = [55.0] * 9
    assert word([*ahead, 51.0]) == ("HOLDS", 0.5**10)
    assert word([*ahead, 49.9]) == ("UNRESOLVED", 1.0)
    assert word([*ahead, 50.0])[0] == "UNRESOLVED"
    assert word([45.0] * 9 + [49.0])[0] == "REVERSED"
    assert word([45.0] * 9 + [49.0], "'a' < 'b'") == ("HOLDS", 0.5**10)
    # The mean is shown to be higher although one trial is behind.
    assert judged("'a' > 'b'", a=[*ahead, 49.9], b=b)[0].word == "HOLDS"


@pytest.mark.parametrize("holds", ["'a' ~ 1 'b'", "'a' - 'b' = 2"])
def test_equality_is_not_said_of_every_trial(holds):
    with pytest.raises(SpecError, match="every trial"):
        judged(holds, a=[1.0, 2.0], b=[1.0, 2.0], every_trial=True)


def test_a_stated_size_is_judged_by_the_narrowest_margin_of_its_cells():
    close, other = noise(1, 51, 0.1), noise(2, 50, 0.1)
    own = replace(CELLS[0], margin=Margin(0.2, "its column spreads less"))
    table = replace(TABLE, cells=(own, *CELLS[1:]))
    values = {key("a"): dict(enumerate(close)), key("b"): dict(enumerate(other))}
    claim = Claim("c", "s", "'a' - 'b' = 0")
    context = ClaimContext(values, 2.0, "%", frozenset(), {})
    words = [
        judge_claims([(claim, bind(claim, one, replace(PAPER, tables=(one,))))], context)[0].word
        for one in (TABLE, table)
    ]
    assert words == ["HOLDS", "REVERSED"]


def test_only_seeds_that_all_cells_have_are_used():
    found = one("'a' > 'b'", a={0: 5.0, 2: 6.0, 4: 7.5}, b={0: 1.0, 1: 90.0, 2: 2.5, 4: 3.0})
    assert found.comparisons[0].differences == (4.0, 3.5, 4.5)


def test_a_claim_needs_all_of_its_comparisons():
    a, b, c = noise(1, 60), noise(2, 40), noise(4, 59.9)
    assert one("'a' > 'b'", a=a, b=b).word == "HOLDS"
    both = one("'a' > 'b', 'c'", a=a, b=b, c=c)
    assert both.word == "UNRESOLVED"
    assert both.p_adjusted == max(x.p for x in both.comparisons)
    assert "1 of 2" in both.reason


def test_where_all_trials_go_one_way_t_decides_alone_as_flips_tell_no_less_than_a_32nd():
    a, b = noise(1, 60), noise(2, 40)
    found = one("'a' > 'b'", a=a, b=b).comparisons[0]
    assert found.p == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert found.p < 2**-5 == found.p_sign


def test_one_comparison_that_is_opposite_leaves_a_claim_partly_shown():
    found = one("'a' > 'b', 'c'", a=noise(1, 60), b=noise(2, 40), c=noise(4, 80))
    assert (found.word, found.shown, found.opposite) == ("PARTLY", 1, 1)
    assert "1 of 2 shown, 1 opposite" in found.reason
    assert "'" not in found.comparisons[1].text
    assert found.comparisons[1].text in found.reason


def test_a_claim_is_reversed_where_all_of_it_is_and_says_on_scaled_runs_that_it_is_so_here():
    given = {"a": noise(1, 60), "b": noise(2, 80), "c": noise(4, 80)}
    found = one("'a' > 'b', 'c'", **given)
    assert (found.word, found.shown, found.opposite) == ("REVERSED", 0, 2)
    assert one("'a' > 'b', 'c'", scaled=("b",), **given).word == "OPPOSITE HERE"


def test_reversal_is_corrected_for_the_number_of_comparisons():
    d = np.array([1.0, 1.2, 0.2, 0.9, 0.1])
    base = np.zeros(5)
    p = stats.ttest_1samp(d, 0, alternative="greater").pvalue
    assert 0.05 / 4 < p < 0.05
    assert one("'a' > 'b'", a=base, b=d).word == "REVERSED"
    noisy = [base - 3 + noise(s, 0, 4.0) for s in (11, 12, 13)]
    few = one("'a' > 'b', 'c', 'd'", a=base, b=d, c=noisy[0], d=noisy[1])
    assert few.word == "UNRESOLVED"


def test_claims_are_corrected_by_benjamini_and_hochberg():
    a, b, c, d = noise(1, 52), noise(2, 50), noise(3, 50.5), noise(5, 50)
    holds = ["'a' > 'b'", "'a' > 'c'", "'a' > 'd'", "'c' > 'd'"]
    found = judged(holds, a=a, b=b, c=c, d=d)
    raw = [result.p for result in found]
    expected = multipletests(raw, method="fdr_bh")[1]
    assert [result.p_adjusted for result in found] == pytest.approx(list(expected))
    assert [result.word == "HOLDS" for result in found] == [p <= 0.05 for p in expected]


def test_claims_that_were_not_tested_do_not_weigh_on_the_others():
    a, b = noise(1, 60), noise(2, 50)
    alone = one("'a' > 'b'", a=a, b=b)
    beside = judged(["'a' > 'b'", "'a' > 'c'"], a=a, b=b, reasons={key("c"): "no data"})
    assert beside[0].p_adjusted == alone.p_adjusted
    assert (beside[1].word, beside[1].p_adjusted) == ("NOT RUN", None)
    assert "no data" in beside[1].reason


def test_claims_of_all_tables_are_corrected_together():
    a, b, c, d = noise(1, 52), noise(2, 50), noise(3, 50.5), noise(5, 50)
    values = {key(row): dict(enumerate(one)) for row, one in zip(ROWS, (a, b, c, d), strict=True)}
    context = ClaimContext(values, 2.0, "%", frozenset(), {})
    claims = [Claim(f"c{i}", "s", f"'a' > '{row}'") for i, row in enumerate("bcd")]
    bound = [(claim, bind(claim, TABLE, PAPER)) for claim in claims]
    apart = judge_together([(bound[:1], context), (bound[1:], context)])
    assert [len(table) for table in apart] == [1, 2]
    assert [one for table in apart for one in table] == list(judge_claims(bound, context))


def test_about_equal_is_two_one_sided_tests():
    a, b = noise(1, 60, 0.3), noise(2, 60.2, 0.3)
    found = one("'a' ~ 1.5 'b'", a=a, b=b)
    data = DescrStatsW(np.subtract(a, b))
    by_t = max(data.ttest_mean(-1.5, "larger")[1], data.ttest_mean(1.5, "smaller")[1])
    assert found.comparisons[0].p == pytest.approx(by_t, abs=1e-10)
    assert found.word == "HOLDS"
    assert one("'a' ~ 1.5 'b'", a=a, b=noise(2, 66, 0.3)).word == "REVERSED"
    assert one("'a' ~ 1.5 'b'", a=a, b=noise(2, 61.3, 2.0)).word == "UNRESOLVED"


def test_a_stated_size_is_held_against_the_margin_with_its_rounding():
    a, b = noise(1, 65.9, 0.2), noise(2, 60, 0.2)
    found = one("'a' - 'b' = 5.9", a=a, b=b)
    d = np.subtract(a, b) - 5.9
    farther = np.abs(d.mean()) + 0.05
    one_more_draw = np.std(d, ddof=1) * np.sqrt(1 + 1 / 5)
    expected = stats.t.sf((2.0 - farther) / one_more_draw, 4)
    assert found.comparisons[0].p == pytest.approx(expected, abs=1e-10)
    assert found.word == "HOLDS"


def test_a_stated_size_is_never_judged_on_scaled_runs_but_shown():
    a, b = noise(1, 65.9, 0.2), noise(2, 60, 0.2)
    found = one("'a' - 'b' = 5.9", a=a, b=b, scaled=("b",))
    assert (found.word, found.p_adjusted) == ("NOT JUDGED", None)
    assert f"{np.mean(a) - np.mean(b) - 5.9:+.3g}" in found.reason
    assert found.comparisons[0].p is None


def test_a_stated_size_needs_a_margin_in_its_unit():
    given = {"a": noise(1, 65.9), "b": noise(2, 60)}
    assert "margin" in one("'a' - 'b' = 5.9", margin=None, **given).reason
    assert "unit" in one("'a' / 'b' = 1.1", **given).reason


def test_direction_is_judged_on_scaled_runs():
    assert one("'a' > 'b'", a=noise(1, 60), b=noise(2, 40), scaled=("a", "b")).word == "HOLDS"


def test_fewer_than_two_paired_trials_resolve_nothing():
    found = one("'a' > 'b'", a={0: 5.0, 1: 5.0}, b={1: 4.0, 2: 3.0})
    assert (found.word, found.p_adjusted) == ("UNRESOLVED", None)
    assert found.comparisons[0].p is None


def test_differences_that_are_all_equal_fall_back_on_signs():
    found = one("'a' > 'b'", a=[5, 6, 7, 8, 9], b=[4, 5, 6, 7, 8])
    assert (found.word, found.p_adjusted) == ("HOLDS", 2**-5)
    assert one("'a' > 'b'", a=[5, 6, 7, 8], b=[4, 5, 6, 7]).word == "UNRESOLVED"
    assert one("'a' > 'b'", a=[5, 6, 7, 8, 9], b=[6, 7, 8, 9, 10]).word == "REVERSED"


def test_ties_in_every_trial_show_nothing_of_a_strict_comparison():
    found = one("'a' > 'b'", a=[5, 6, 7], b=[5, 6, 7])
    assert found.word == "UNRESOLVED"
    assert (found.comparisons[0].p, found.comparisons[0].p_reversed) == (1.0, 1.0)


def test_the_largest_of_several_cells_is_that_of_the_largest_mean():
    a, b, c = [5.0, 1.0, 3.0], [4.0, 6.0, 2.0], [9.0, 9.0, 9.5]
    assert one("'c' > max('a', 'b')", a=a, b=b, c=c).comparisons[0].differences == (5.0, 3.0, 7.5)
    assert one("'c' > min('a', 'b')", a=a, b=b, c=c).comparisons[0].differences == (4.0, 8.0, 6.5)
    halves = one("'c' > mean('a', 'b') * 2", a=a, b=b, c=c).comparisons[0].differences
    assert halves == (0.0, 2.0, 4.5)


@pytest.mark.parametrize(
    "holds",
    ["'a' / 'b' > 2", "'a' / ('b' - 'b') > 1", "('a' - 'a') / ('b' - 'b') = 1", "'a' / 0 ~ 1 2"],
)
def test_a_zero_divisor_resolves_nothing_and_leaves_only_finite_numbers(holds):
    found = one(holds, a=[1.0, 2.0], b=[0.0, 1.0])
    assert (found.word, found.reason) == ("NOT JUDGED", "A divisor is zero in some trial.")
    json.dumps(as_plain(found), allow_nan=False)


def test_above_the_largest_of_several_is_above_each_of_them():
    a, b, c = noise(1, 60), noise(2, 59), noise(4, 59)
    each = [x.p for x in one("'a' > 'b', 'c'", a=a, b=b, c=c).comparisons]
    assert one("'a' > max('b', 'c')", a=a, b=b, c=c).p == max(each)
    assert one("min('b', 'c') < 'a'", a=a, b=b, c=c).p == 2 * min(each)
    assert one("max('b', 'c') < 'a'", a=a, b=b, c=c).p == max(each)


def test_a_range_is_below_a_bound_if_all_pairs_of_its_cells_are():
    a, b, c = noise(1, 60, 0.1), noise(2, 61, 0.1), noise(4, 60.5, 0.1)
    spread = "max('a', 'b', 'c') - min('a', 'b', 'c')"
    assert one(f"{spread} < 2", a=a, b=b, c=c).word == "HOLDS"
    assert one(f"{spread} < 0.5", a=a, b=b, c=c).word == "REVERSED"


def test_five_equal_arms_do_not_show_that_the_best_of_them_is_better_than_a_sixth():
    rng = np.random.default_rng(4)
    cells = tuple(replace(CELLS[0], row=(row,)) for row in "abcdef")
    table = replace(TABLE, cells=cells)
    claim = Claim("c", "s", "max('a', 'b', 'c', 'd', 'e') > 'f'")
    bound = [(claim, bind(claim, table, replace(PAPER, tables=(table,))))]
    by_mean = by_trial = 0
    for _ in range(150):
        trials = rng.normal(50, 1, (6, 10))
        values = {key(row): dict(enumerate(x)) for row, x in zip("abcdef", trials, strict=True)}
        context = ClaimContext(values, None, "%", frozenset(), {})
        by_mean += judge_claims(bound, context)[0].word == "HOLDS"
        by_trial += stats.ttest_rel(trials[:5].max(0), trials[5], alternative="greater")[1] < 0.05
    assert by_trial / 150 > 0.5
    assert by_mean / 150 <= 0.05 + 2.9 * np.sqrt(0.05 * 0.95 / 150)


def counted(row, value):
    cell = replace(CELLS[0], row=(row,), kind="analytic", metric="bits", unit="bit")
    return cell, {key(row): {0: value}}


def exactly(holds, recomputed=None, **values):
    """A claim on counted cells; None where no round was counted."""
    cells = tuple(counted(row, value)[0] for row, value in values.items())
    table = replace(TABLE, cells=cells, unit="bit", margin=None)
    claim = Claim("c", "s", holds)
    stored = {key(row): {} if value is None else {0: value} for row, value in values.items()}
    formulas = {key(row): value for row, value in (recomputed or {}).items()}
    context = ClaimContext(stored, None, "bit", frozenset(), {}, recomputed=formulas)
    bound = bind(claim, table, replace(PAPER, tables=(table,)))
    return judge_claims([(claim, bound)], context)[0]


def test_counts_are_compared_exactly_and_without_a_test():
    found = exactly("'a' < 'b'", a=5.0, b=6.0)
    assert (found.word, found.p, found.p_adjusted, found.comparisons[0].exact) == (
        "HOLDS", None, None, True,
    )  # fmt: skip
    assert exactly("'a' < 'b'", a=6.0, b=6.0).word == "REVERSED"
    assert exactly("'a', 'b' < 'c'", a=1.0, b=3.0, c=2.0).word == "PARTLY"
    assert exactly("'a' = 'b' * 2", a=12.0, b=6.0).word == "HOLDS"
    assert exactly("'a' = 'b'", a=12.0, b=12.5).word == "REVERSED"
    assert exactly("'a' / 'b' ~ 0.5 2", a=12.0, b=6.5).word == "HOLDS"
    assert exactly("'a' / 'b' > 2", a=12.0, b=0.0).word == "NOT JUDGED"


def test_rounding_of_the_machine_is_no_difference_of_counts_and_one_bit_is():
    assert 0.1 + 0.2 > 0.3
    assert exactly("'a' + 'b' > 'c'", a=0.1, b=0.2, c=0.3).word == "REVERSED"
    assert exactly("'a' + 'b' - 'c' > 0", a=0.1, b=0.2, c=0.3).word == "REVERSED"
    assert exactly("'a' > 'b'", a=4.2e10 + 1, b=4.2e10).word == "HOLDS"
    assert exactly("'a' = 'b'", a=4.2e10 + 1, b=4.2e10).word == "REVERSED"


def test_a_tolerance_of_counts_is_not_widened_by_the_rounding_of_a_number():
    assert exactly("'a' ~ 1 5", a=6.4).word == "REVERSED"
    assert exactly("'a' ~ 1 5", a=6.0).word == "HOLDS"


def test_where_a_cell_was_not_counted_its_formula_stands_for_all_cells_of_the_comparison():
    formulas = {"a": 5.0, "b": 6.0}
    assert exactly("'a' < 'b'", formulas, a=None, b=1.0).word == "HOLDS"
    assert exactly("'a' < 'b'", {"a": 5.0}, a=None, b=1.0).word == "NOT RUN"


def test_of_a_claim_that_does_not_hold_what_is_shown_pays_for_the_other_claims():
    c = noise(1, 60)
    a, b = np.add(c, [1, 2, 3, 1.5, 0.2]), np.subtract(c, [2, 1, 3, 4, 2])
    partly = "'a', 'b' > 'c'"
    assert stats.ttest_rel(a, c, alternative="greater").pvalue * 2 < 0.05
    assert judged(partly, a=a, b=b, c=c)[0].shown == 1
    assert judged([partly, *["'b' > 'c'"] * 9], a=a, b=b, c=c)[0].shown == 0


def test_a_count_that_is_opposite_is_no_discovery_that_eases_other_claims():
    cell, count = counted("d", 70.0)
    table = replace(TABLE, cells=(*CELLS[:3], replace(cell, unit="%")))
    b = noise(1, 60)
    a = np.subtract(b, [1, 3, 4, 1, 0.05])
    values = {key("a"): dict(enumerate(a)), key("b"): dict(enumerate(b)), **count}
    context = ClaimContext(values, None, "%", frozenset(), {})
    claims = [Claim("t", "s", "'a' > 'b'"), Claim("m", "s", "'b' > 60 > 'd'")]
    paper = replace(PAPER, tables=(table,))
    bound = [(one, bind(one, table, paper)) for one in claims]
    assert judge_claims(bound[:1], context)[0].word == "REVERSED"
    alone, mixed = judge_claims(bound, context)
    assert alone.word == "UNRESOLVED"
    assert (mixed.word, mixed.opposite) == ("PARTLY", 1)
    assert "(by counted or computed numbers)" in mixed.reason


def test_counts_weigh_on_no_tested_claim():
    cell, count = counted("d", 3.0)
    table = replace(TABLE, cells=(*CELLS[:3], replace(cell, unit="%")))
    a, b = noise(1, 60), noise(2, 59)
    values = {key("a"): dict(enumerate(a)), key("b"): dict(enumerate(b)), **count}
    context = ClaimContext(values, None, "%", frozenset(), {})
    claims = [
        Claim("t", "s", "'a' > 'b'"),
        Claim("e", "s", "'d' > 2"),
        Claim("m", "s", "'a' > 'd'"),
    ]
    paper = replace(PAPER, tables=(table,))
    both = judge_claims([(one, bind(one, table, paper)) for one in claims[:2]], context)
    assert both[0].p_adjusted == both[0].p
    assert both[1].word == "HOLDS"
    # A count beside trained cells is the same number in every trial.
    mixed = judge_claims([(claims[2], bind(claims[2], table, paper))], context)[0]
    assert mixed.comparisons[0].differences == pytest.approx(np.subtract(a, 3.0))
    assert mixed.word == "HOLDS"


def test_accuracies_at_a_hundred_percent_in_both_arms_show_no_difference_and_an_equivalence():
    full = [100.0] * 5
    found = one("'a' > 'b'", a=full, b=full)
    assert (found.word, found.trials_needed) == ("UNRESOLVED", None)
    assert found.comparisons[0].superiority == 0.5
    assert one("'a' ~ 1 'b'", a=full, b=full).word == "HOLDS"


def looked(holds, looks, **trials):
    values = {key(row): dict(enumerate(given)) for row, given in trials.items()}
    context = ClaimContext(values, 2.0, "%", frozenset(), {}, looks=looks)
    claim = Claim("c", "s", holds)
    return judge_claims([(claim, bind(claim, TABLE, PAPER))], context)[0]


def test_looks_before_the_last_have_spent_their_share():
    a, b = noise(1, 52, 1, 20), noise(2, 50.5, 1, 20)
    once, twice = (looked("'a' > 'b'", looks, a=a, b=b) for looks in ((20,), (10, 20)))
    at_ten = one("'a' > 'b'", a=a[:10], b=b[:10]).p
    first, second = shares((10, 20), 20)
    assert twice.p == pytest.approx(min(at_ten / first, once.p / second, 1.0))
    assert (twice.looks, twice.declared) == ((10, 20), 20)
    assert (once.looks, once.declared) == ((20,), 20)
    # A look sees the first trials alone, and spends its share whether or not later ones are there.
    early = looked("'a' > 'b'", (10, 20), a=a[:10], b=b)
    assert (early.looks, early.declared) == ((10,), 20)
    assert early.p == pytest.approx(min(at_ten / first, 1.0))


def test_a_claim_that_looks_show_both_ways_does_not_hold():
    a = [*noise(1, 51, 0.1), *noise(2, 47, 0.1, 15)]
    found = looked("'a' > 'b'", (5, 20), a=a, b=[50.0] * 20)
    assert max(found.p, found.p_reversed) < 0.01
    assert (found.word, found.opposite) == ("UNRESOLVED", 1)
    assert "another the opposite of a @ x > b @ x" in found.reason


def test_an_open_claim_says_how_many_trials_would_decide_at_what_was_seen():
    a, b = noise(6, 60), noise(16, 60)
    found = one("'a' > 'b'", a=a, b=b)
    d = np.subtract(a, b)
    n = found.trials_needed
    p = [stats.t.sf(abs(d.mean()) / d.std(ddof=1) * k**0.5, k - 1) for k in (n - 1, n)]
    assert found.word == "UNRESOLVED"
    assert p[0] > 0.05 >= p[1]
