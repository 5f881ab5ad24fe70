"""The claims' error rates, by simulation: `docs/verdicts.md` says what they mean."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.compare import within
from fedrepro.benchmark.claims.context import ClaimContext
from fedrepro.benchmark.claims.nodes import key_of
from fedrepro.benchmark.claims.trials import judge_claims
from fedrepro.benchmark.spec.model import Cell, Claim, Paper, Readout, Table
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.stats.false_discovery import benjamini_hochberg
from fedrepro.benchmark.stats.looks import sequential_p, shares
from fedrepro.benchmark.stats.paired import p_above
from fedrepro.benchmark.stats.samples import describe
from fedrepro.benchmark.stats.t_tests import p_beyond
from tests.benchmark.paired_trials import FAMILIES, one_arm_collapses

SIZES = [400, pytest.param(20_000, marks=pytest.mark.slow)]
TRIALS = (5, 10, 20, 40)


def limit(tables):
    """5 %, and the 99.8 % Monte-Carlo bound above it."""
    return 0.05 + 2.9 * np.sqrt(0.05 * 0.95 / tables)


def rate(p):
    return float((np.asarray(p) <= 0.05).mean())


def differences(family, tables, n, seed=0):
    """Differences by seed of two methods of which neither is better. [tables, n]"""
    rng = np.random.default_rng(seed)
    arms = FAMILIES[family](rng, (2, tables, n))
    return arms[0] - arms[1]


@pytest.mark.parametrize("tables", SIZES)
@pytest.mark.parametrize("n", TRIALS)
@pytest.mark.parametrize("family", FAMILIES)
def test_of_two_methods_of_which_neither_is_better_few_are_called_better_or_worse(
    family, n, tables
):
    found = differences(family, tables, n)
    assert rate(p_above(found)) <= limit(tables)
    assert rate(p_above(-found)) <= limit(tables)


@pytest.mark.parametrize("tables", SIZES)
@pytest.mark.parametrize("family", FAMILIES)
def test_looking_at_5_10_20_and_40_trials_keeps_the_level(family, tables):
    found = differences(family, tables, 40, seed=1)
    each = np.array([p_above(found[:, :n]) for n in TRIALS])
    spent = shares(TRIALS, 40)
    assert rate([sequential_p(one, spent) for one in each.T]) <= limit(tables)


@pytest.mark.parametrize("tables", SIZES)
@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("family", FAMILIES)
def test_of_twenty_claims_of_which_none_is_true_rarely_any_is_shown(family, n, tables):
    reports = tables // 20
    p = p_above(differences(family, reports * 20, n, seed=2)).reshape(reports, 20)
    assert rate([min(benjamini_hochberg(list(one))) for one in p]) <= limit(reports)


@pytest.mark.parametrize("tables", SIZES)
def test_of_the_claims_that_a_report_calls_shown_at_most_one_in_twenty_is_wrong(tables):
    reports = tables // 20
    found = differences("normal", reports * 20, 10, seed=3).reshape(reports, 20, 10)
    found[:, :10] += 1.5 * np.sqrt(2)
    adjusted = np.array([benjamini_hochberg(list(one)) for one in p_above(found)])
    shown = adjusted <= 0.05
    wrong = shown[:, 10:].sum(axis=1) / np.maximum(1, shown.sum(axis=1))
    assert shown[:, :10].mean() > 0.9
    assert wrong.mean() <= 0.05 + 2.9 * wrong.std() / np.sqrt(reports)


@pytest.mark.parametrize(
    ("n", "drop", "bound"),
    [(5, 8, 0.15), (5, 20, 0.45), (10, 8, 0.2), (40, 20, 0.11)],
)
def test_how_often_a_method_that_alone_collapses_is_called_better(n, drop, bound):
    """0.87^5 = 0.50 of the samples of five show no collapse: no test that has power could know."""
    found = rate(p_above(one_arm_collapses(np.random.default_rng(4), 4000, n, drop)))
    assert 0.05 < found <= bound


@pytest.mark.parametrize("n", [5, 10, 20])
def test_a_true_printed_size_is_rarely_called_wrong_though_it_is_a_single_run(n):
    rng, tables = np.random.default_rng(7), 2000
    ours, printed = rng.normal(size=(tables, n)), rng.normal(size=(tables, 1))
    found = [within(describe(one), 1.0)[1] for one in (ours - printed).tolist()]
    assert rate(found) <= limit(tables)
    bare = [
        p_beyond(abs(one.mean), one.error, n - 1, 1.0)
        for one in map(describe, (ours - printed).tolist())
    ]
    assert rate(bare) > 0.1, "what the test is here for"


def test_an_effect_of_one_sd_is_found_with_ten_trials():
    found = np.random.default_rng(8).normal(1, 1, size=(2000, 10))
    assert rate(p_above(found)) > 0.85


def words_of(holds, tables, means, seed):
    """Words of one claim over simulated tables: rows a, b, c with these means, ten trials each."""
    cells = tuple(
        Cell("p", "3", (r,), ("x",), "empirical", "m", "%", Printed.parse("5.0"), Readout(), {})
        for r in "abc"
    )
    table = Table(
        "p", "3", "t", "1", "empirical", "m", "%", cells, (), None, None, None, (), (), None,
        Path("3.toml"),
    )  # fmt: skip
    claim = Claim("c", "s", holds)
    bound = [(claim, bind(claim, table, Paper("p", "t", "a", 2023, (table,), {}, (), Path("p"))))]
    rng = np.random.default_rng(seed)
    words = Counter()
    for trials in rng.normal(np.array(means)[:, None], 1, (tables, 3, 10)):
        rows = zip(cells, trials.tolist(), strict=True)
        values = {key_of(cell): dict(enumerate(row)) for cell, row in rows}
        words[judge_claims(bound, ClaimContext(values, None, "%", frozenset(), {}))[0].word] += 1
    return words


@pytest.mark.parametrize("tables", [200, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_claim_of_which_one_comparison_is_open_rarely_holds_and_is_rarely_partly_so(tables):
    at_the_edge = words_of("'a' > 'b', 'c'", tables, (50, 50, 40), 10)
    assert at_the_edge["HOLDS"] / tables <= limit(tables)
    assert (at_the_edge["PARTLY"] + at_the_edge["REVERSED"]) / tables <= limit(tables)
    all_alike = words_of("'a' > 'b', 'c'", tables, (50, 50, 50), 11)
    assert (all_alike["PARTLY"] + all_alike["REVERSED"]) / tables <= limit(tables)
    assert words_of("'a' > 'b', 'c'", 20, (50, 40, 40), 12)["HOLDS"] == 20
    assert words_of("'a' > 'b', 'c'", 20, (50, 60, 40), 13)["PARTLY"] == 20
