"""Which trials come next: the order of what is worth most, and the chance of a decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.next_trials import OpenClaim, chance_of_decision, worth_most
from fedrepro.benchmark.results import ClaimResult, Comparison


def runs(n: int) -> list[RunConfig]:
    return [RunConfig("federated", f"m{i}", {}, {"name": "d"}, {"name": "c"}) for i in range(n)]


def open_claim(id: str, of: Sequence[RunConfig], chance: float, trials: int = 2) -> OpenClaim:
    wanted = tuple((run, seed) for seed in range(trials) for run in of)
    return OpenClaim("1", id, trials, wanted, chance)


def test_what_decides_most_a_second_comes_first() -> None:
    a, b, c, d = runs(4)
    cost = {a: 1.0, b: 1.0, c: 4.0, d: 4.0}
    claims = [open_claim("dear", [c, d], 0.9), open_claim("cheap", [a, b], 0.5)]
    assert worth_most(claims, cost.__getitem__) == [
        *[(a, 0), (b, 0), (a, 1), (b, 1)],
        *[(c, 0), (d, 0), (c, 1), (d, 1)],
    ]


def test_trials_that_claims_share_are_counted_once() -> None:
    """Alone, the third claim is dearer than the second; with the first claim's run it is not."""
    a, b, c, d, e = runs(5)
    cost = {a: 2.0, b: 1.0, c: 1.5, d: 1.5, e: 1.2}
    claims = [
        open_claim("first", [a, b], 0.9),
        open_claim("second", [d, c], 0.4),
        open_claim("third", [a, e], 0.4),
    ]
    order = list(dict.fromkeys(run for run, _ in worth_most(claims, cost.__getitem__)))
    assert order == [a, b, e, d, c]


def test_what_is_worth_far_less_waits_for_the_next_look() -> None:
    a, b, c, d = runs(4)
    claims = [open_claim("likely", [a, b], 0.9), open_claim("hopeless", [c, d], 0.01)]
    assert {run for run, _ in worth_most(claims, lambda run: 1.0)} == {a, b}


def test_what_the_printed_numbers_bear_out_comes_before_what_they_do_not() -> None:
    a, b, c, d = runs(4)
    unsupported = replace(open_claim("cheap", [a, b], 0.5), supported=False)
    found = worth_most(
        [unsupported, open_claim("dear", [c, d], 0.5)], {a: 1.0, b: 1.0, c: 4.0, d: 4.0}.__getitem__
    )
    assert list(dict.fromkeys(run for run, _ in found)) == [c, d, a, b]


def test_claims_of_no_chance_are_still_trained_when_nothing_else_is_open() -> None:
    a, b = runs(2)
    assert len(worth_most([open_claim("hopeless", [a, b], 0.0)], lambda run: 1.0)) == 4


@settings(max_examples=50)
@given(st.data())
def test_the_order_follows_from_claims_and_estimates_alone(data: st.DataObject) -> None:
    pool = runs(6)
    seconds = {run: data.draw(st.sampled_from([0.5, 1.0, 3.0, 10.0])) for run in pool}
    claims = [
        open_claim(str(i), data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3)), 0.5)
        for i in range(5)
    ]
    once = worth_most(claims, seconds.__getitem__)
    assert once == worth_most(claims, seconds.__getitem__)
    assert len({(run.key, seed) for run, seed in once}) == len(once)
    needed = {trial for claim in claims for trial in claim.trials}
    assert set(once) <= needed
    assert once


def compared(*pairs: tuple[float, float]) -> ClaimResult:
    """A claim of comparisons with these p-values."""
    one = [Comparison("a > b", "", "", (), None, None, p, q) for p, q in pairs]
    return ClaimResult("c", "s", "h", "supported", "", "UNRESOLVED", "", None, tuple(one))


def test_the_chance_of_a_decision_is_that_of_drawn_trials() -> None:
    """Reference: the coming trials are drawn about a mean that is itself drawn about that seen."""
    n, then, declared, z = 5, 10, 20, 1.2
    rng = np.random.default_rng(0)
    seen, draws = z / math.sqrt(n), 200_000
    truth = rng.normal(seen, 1 / math.sqrt(n), draws)
    coming = rng.normal(truth, 1 / math.sqrt(then - n))
    statistic = (n * seen + (then - n) * coming) / then * math.sqrt(then)
    spent = [math.log1p((math.e - 1) * at / declared) for at in (n, then)]
    level = 0.05 * (spent[1] - spent[0])
    expected = np.mean(np.abs(statistic) >= norm.isf(level))
    p = float(norm.sf(z))
    found = chance_of_decision(compared((p, 1 - p)), n, then, declared)
    assert found == pytest.approx(expected, abs=0.005)


def test_a_conjunction_is_no_likelier_than_its_weakest_part() -> None:
    strong, weak = (0.01, 0.99), (0.3, 0.7)
    both = chance_of_decision(compared(strong, weak), 5, 10, 20)
    assert both <= chance_of_decision(compared(weak), 5, 10, 20) + 1e-12
    assert chance_of_decision(compared(strong), 5, 10, 20) > both


def test_what_is_counted_or_beyond_the_declared_trials_has_no_chance() -> None:
    exact = replace(compared((0.2, 0.8)).comparisons[0], exact=True)
    assert chance_of_decision(replace(compared(), comparisons=(exact,)), 5, 10, 20) == 0
    assert chance_of_decision(compared((0.01, 0.99)), 20, 40, 20) == 0
