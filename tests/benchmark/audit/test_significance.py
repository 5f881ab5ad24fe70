from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind, ttest_ind_from_stats

from fedrepro.benchmark.audit.checks import beyond_trials, significance
from fedrepro.benchmark.spec.model import Claim
from tests.benchmark.audit.small_paper import paper, printed, rows, rules, statuses, trials

ALIKE = {"note": "'No significant difference' is read as within 2.0."}
exact = st.integers(1, 10_000).map(lambda n: Fraction(n, 100))


@settings(deadline=None)
@given(exact, exact, exact, exact, st.integers(2, 9), st.integers(2, 9))
def test_bounds_of_p_enclose_welchs_test_from_summaries(
    a: Fraction, b: Fraction, sd_a: Fraction, sd_b: Fraction, n: int, m: int
) -> None:
    means = [
        significance.Mean(Fraction(1), (a, a), (sd_a, sd_a), n, (1,)),
        significance.Mean(Fraction(-1), (b, b), (sd_b, sd_b), m, (1,)),
    ]
    found = significance.compare(means)
    known = ttest_ind_from_stats(
        float(a), float(sd_a), n, float(b), float(sd_b), m, equal_var=False
    )
    assert found.t[0] == pytest.approx(abs(known.statistic))
    assert found.t[1] == pytest.approx(abs(known.statistic))
    assert found.p[0] <= known.pvalue * (1 + 1e-9)
    assert found.p[1] >= known.pvalue * (1 - 1e-9)


def test_population_sds_are_made_those_of_samples_first() -> None:
    # Five trials each; NumPy's SD is that of a population.
    one, other = np.array([65.0, 66, 67, 68, 69]), np.array([69.0, 70, 70, 71, 74])
    means = []
    for weight, x in ((1, one), (-1, other)):
        mean, sd = Fraction(float(x.mean())), Fraction(float(x.std()))
        means.append(significance.Mean(Fraction(weight), (mean, mean), (sd, sd), 5, (0,)))
    expected = abs(ttest_ind(one, other, equal_var=False).statistic)
    assert significance.compare(means).t[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("first", "second", "said", "status"),
    [
        ("80.0 ± 0.2", "70.0 ± 0.2", {"vague": "significantly"}, "consistent"),
        ("80.0 ± 5.0", "79.0 ± 5.0", {"vague": "significantly"}, "inconsistent"),
        ("70.0 ± 0.2", "80.0 ± 0.2", {"vague": "significantly"}, "inconsistent"),
        ("80.0 ± 0.2", "70.0 ± 0.2", {"vague": "not significantly"}, "inconsistent"),
        ("80.0 ± 5.0", "79.0 ± 5.0", ALIKE, "consistent"),
        ("80.0 ± 0.2", "70.0 ± 0.2", {"vague": "comparable"}, "undecidable"),
    ],
)  # fmt: skip
def test_words_are_held_against_the_spreads(
    first: str, second: str, said: dict[str, str], status: str
) -> None:
    holds = "'A' - 1.0 > 'B'" if said.get("vague") == "significantly" else "'A' ~ 2.0 'B'"
    cells = rows({"A": first, "B": second})
    made = paper(*cells, claims=[Claim("c", "s", holds, **said)], runs=5)
    (found,) = significance.check(made)
    assert found.status == status


def test_a_sentence_about_a_dash_is_passed_over() -> None:
    cells = rows({"A": "80.0 ± 0.2", "B": "—"})
    said = [Claim("c", "A leads B", "'A' > 'B'", vague="significantly")]
    assert not list(significance.check(paper(*cells, claims=said, runs=5, ddof=1)))


def test_sentence_with_other_readings_is_left_open() -> None:
    cells = rows({"A": "80.0 ± 5.0", "B": "79.0 ± 5.0"})
    said = [
        Claim("c", "s", "'A' > 'B'", vague="significantly"),
        Claim("d", "s", "'A' > 1", reading_of="c"),
    ]
    (found,) = significance.check(paper(*cells, claims=said, runs=5))
    assert found.status == "undecidable"


def test_single_number_borrows_the_spread_of_its_experiment() -> None:
    single = rows({"A": "67.8", "B": "70.9"})
    several = rows({"A": "65.8 ± 5.0", "B": "66.0 ± 5.0"}, table="2")
    said = [Claim("c", "s", "'B' - 2.0 > 'A'", vague="significantly")]
    (found,) = significance.check(paper(*single, *several, claims=said, runs=5))
    assert found.status == "inconsistent"
    assert found.tables == ("1", "2")
    assert found.published == "66.0 ± 5.0 - 65.8 ± 5.0"


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.integers(0, 2000), min_size=3, max_size=6),
    st.lists(st.integers(0, 2000), min_size=3, max_size=6),
    st.sampled_from([0, 1]),
    st.booleans(),
    st.integers(0, 2),
    rules,
)
def test_true_words_about_true_trials_are_never_inconsistent(
    first: list[int], second: list[int], ddof: int, stated: bool, digits: int, rule: str
) -> None:
    n = min(len(first), len(second))
    one, other = (np.array(x[:n], float) / 100 for x in (first, second))
    assume(one.std() + other.std() > 0)
    assume(one.mean() > other.mean())
    p = ttest_ind(one, other, equal_var=False).pvalue
    # Floating point cannot tell on which side of 5 % p is where it is there exactly.
    assume(abs(p - significance.LEVEL) > 1e-6)

    def text(x: np.ndarray) -> str:
        mean, sd = Decimal(float(x.mean())), Decimal(float(x.std(ddof=ddof)))
        return f"{printed(mean, digits, rule)} ± {printed(sd, digits, rule)}"

    word = "significantly" if p < significance.LEVEL else "not significantly"
    holds = "'A' > 'B'" if p < significance.LEVEL else "'A' ~ 1.0 'B'"
    cells, said = rows({"A": text(one), "B": text(other)}), [Claim("c", "s", holds, vague=word)]
    made = paper(*cells, claims=said, runs=n, ddof=ddof if stated else None)
    assert "inconsistent" not in statuses(significance.check(made))


@pytest.mark.parametrize(("methods", "status", "likely"), [
    ("ABCD", "undecidable", 2 / 6**4),
    # One direction alone has 0.028: both might be below.
    ("AB", "consistent", 2 / 6**2),
])  # fmt: skip
def test_single_runs_above_every_trial_of_their_experiments(
    methods: str, status: str, likely: float
) -> None:
    texts = ("43.7", "41.5", "43.0", "42.7", "42.6")
    several = (one for row in methods for one in trials(texts, row=row, table="2"))
    (found,) = beyond_trials.check(paper(*rows(dict.fromkeys(methods, "44.1")), *several))
    n = len(methods)
    assert found.status == status
    assert found.computed.startswith(f"{n} of {n} are above every trial, 0 below")
    assert found.published.startswith("A 44.1, trials 41.5 to 43.7")
    assert f"probability {likely:.2g} for" in found.computed


@pytest.mark.parametrize(
    ("hits", "of", "each", "chance"), [(0, 5, 5, 1.0), (1, 1, 4, 0.2), (2, 2, 5, 1 / 36)]
)
def test_chance_of_so_many_is_binomial(hits: int, of: int, each: int, chance: float) -> None:
    assert beyond_trials.chance(hits, of, each) == pytest.approx(chance)
