import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.trials import ClaimContext, judge_claims
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.results import as_plain
from fedrepro.benchmark.spec.model import Cell, Claim, Margin, Paper, Readout, Table
from fedrepro.benchmark.spec.printed import Printed

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


def test_a_comparison_is_the_paired_one_sided_t_test():
    a, b = noise(1, 60), noise(2, 58)
    found = one("'a' > 'b'", a=a, b=b)
    expected = stats.ttest_rel(a, b, alternative="greater").pvalue
    assert found.comparisons[0].p == pytest.approx(expected, abs=1e-12)
    assert found.comparisons[0].p_reversed == pytest.approx(1 - expected, abs=1e-12)
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


def test_one_comparison_that_is_significantly_opposite_reverses_the_claim():
    found = one("'a' > 'b', 'c'", a=noise(1, 60), b=noise(2, 40), c=noise(4, 80))
    assert found.word == "REVERSED"
    assert "'" not in found.comparisons[1].text
    assert found.comparisons[1].text in found.reason


def test_reversal_is_corrected_for_the_number_of_comparisons():
    d = np.array([1.0, 1.2, 0.2, 0.9, 0.1])
    base = np.zeros(5)
    p = stats.ttest_1samp(d, 0, alternative="greater").pvalue
    assert 0.05 / 4 < p < 0.05
    assert one("'a' > 'b'", a=base, b=d).word == "REVERSED"
    noisy = [base - 3 + noise(s, 0, 4.0) for s in (11, 12, 13)]
    few = one("'a' > 'b', 'c', 'd'", a=base, b=d, c=noisy[0], d=noisy[1])
    assert few.word == "UNRESOLVED"


def test_holm_runs_over_the_claims_of_the_table():
    a, b, c, d = noise(1, 52), noise(2, 50), noise(3, 50.5), noise(5, 50)
    holds = ["'a' > 'b'", "'a' > 'c'", "'a' > 'd'", "'c' > 'd'"]
    found = judged(holds, a=a, b=b, c=c, d=d)
    raw = [result.comparisons[0].p for result in found]
    expected = multipletests(raw, method="holm")[1]
    assert [result.p_adjusted for result in found] == pytest.approx(list(expected))
    assert [result.word == "HOLDS" for result in found] == [p <= 0.05 for p in expected]


def test_claims_that_were_not_tested_do_not_weigh_on_the_others():
    a, b = noise(1, 60), noise(2, 50)
    alone = one("'a' > 'b'", a=a, b=b)
    beside = judged(["'a' > 'b'", "'a' > 'c'"], a=a, b=b, reasons={key("c"): "no data"})
    assert beside[0].p_adjusted == alone.p_adjusted
    assert (beside[1].word, beside[1].p_adjusted) == ("NOT RUN", None)
    assert "no data" in beside[1].reason


def test_about_equal_is_two_one_sided_tests():
    a, b = noise(1, 60, 0.3), noise(2, 60.2, 0.3)
    found = one("'a' ~ 1.5 'b'", a=a, b=b)
    data = DescrStatsW(np.subtract(a, b))
    expected = max(data.ttest_mean(-1.5, "larger")[1], data.ttest_mean(1.5, "smaller")[1])
    assert found.comparisons[0].p == pytest.approx(expected, abs=1e-10)
    assert found.word == "HOLDS"
    assert one("'a' ~ 1.5 'b'", a=a, b=noise(2, 66, 0.3)).word == "REVERSED"
    assert one("'a' ~ 1.5 'b'", a=a, b=noise(2, 61.3, 2.0)).word == "UNRESOLVED"


def test_a_stated_size_is_held_against_the_margin_with_its_rounding():
    a, b = noise(1, 65.9, 0.2), noise(2, 60, 0.2)
    found = one("'a' - 'b' = 5.9", a=a, b=b)
    d = np.subtract(a, b) - 5.9
    farther = np.abs(d.mean()) + 0.05
    expected = stats.t.sf((2.0 - farther) / stats.sem(d), 4)
    assert found.comparisons[0].p == pytest.approx(expected, abs=1e-10)
    assert found.word == "HOLDS"


def test_a_stated_size_is_never_judged_on_scaled_runs_but_shown():
    a, b = noise(1, 65.9, 0.2), noise(2, 60, 0.2)
    found = one("'a' - 'b' = 5.9", a=a, b=b, scaled=("b",))
    assert (found.word, found.p_adjusted) == ("UNRESOLVED", None)
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


def test_functions_are_taken_trial_by_trial():
    a, b, c = [5.0, 1.0, 3.0], [4.0, 6.0, 2.0], [9.0, 9.0, 9.5]
    assert one("'c' > max('a', 'b')", a=a, b=b, c=c).comparisons[0].differences == (4.0, 3.0, 6.5)
    assert one("'c' > min('a', 'b')", a=a, b=b, c=c).comparisons[0].differences == (5.0, 8.0, 7.5)
    halves = one("'c' > mean('a', 'b') * 2", a=a, b=b, c=c).comparisons[0].differences
    assert halves == (0.0, 2.0, 4.5)


@pytest.mark.parametrize(
    "holds",
    ["'a' / 'b' > 2", "'a' / ('b' - 'b') > 1", "('a' - 'a') / ('b' - 'b') = 1", "'a' / 0 ~ 1 2"],
)
def test_a_zero_divisor_resolves_nothing_and_leaves_only_finite_numbers(holds):
    found = one(holds, a=[1.0, 2.0], b=[0.0, 1.0])
    assert (found.word, found.reason) == ("UNRESOLVED", "A divisor is zero in some trial.")
    json.dumps(as_plain(found), allow_nan=False)


def test_false_holds_of_a_conjunction_at_its_edge_are_at_most_five_percent():
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(1000):
        a, b, c = rng.normal(50, 1, 5), rng.normal(50, 1, 5), rng.normal(30, 1, 5)
        hits += one("'a' > 'b', 'c'", a=a, b=b, c=c).word == "HOLDS"
    assert hits / 1000 <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 1000)
