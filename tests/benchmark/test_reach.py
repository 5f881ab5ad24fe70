"""The chance of REPRODUCED before a run, held to verdicts on simulated trials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fedrepro.benchmark.judging.published import Published
from fedrepro.benchmark.judging.verdicts import JudgedCell, judge_table
from fedrepro.benchmark.stats import reach
from fedrepro.benchmark.stats.reach import (
    chance_in_the_limit,
    chance_of_reproduced,
    is_out_of_reach,
)
from fedrepro.benchmark.stats.spread import Spread

CASES: list[tuple[float, float, int, float, Spread | None]] = [
    (2.0, 0.005, 5, 0.6, None),
    (2.0, 0.5, 5, 0.4, None),
    (1.5, 0.05, 2, 0.2, None),
    (2.0, 0.005, 5, 1.1, Spread(1.1, 4, 5)),
    (3.0, 0.5, 20, 0.8, Spread(1.0, 2, 3)),
    (2.0, 0.005, 5, 0.5, Spread(0.5, 4, 1)),
    (2.0, 0.005, 10, 0.8, Spread(0.5, 16, 1)),
    (2.0, 0.05, 5, 0.4, Spread(0.7, 4, 1)),
]


def simulated(
    margin: float, half: float, n: int, sd: float, published: Spread | None, tables: int
) -> float:
    """The share of REPRODUCED where both true means are one, by drawing print and trials."""
    rng = np.random.default_rng(7)
    spread = sd if published is None else published.sd / math.sqrt(published.runs)
    hits = 0
    for _ in range(tables):
        # A mean that may lie anywhere between two printable values makes rounding uniform.
        mean = 70 + rng.uniform(-half, half)
        value = round(rng.normal(mean, spread) / (2 * half)) * 2 * half
        side = Published(value, value - half, value + half, published)
        (found,) = judge_table([JudgedCell(side, tuple(rng.normal(mean, sd, n)), margin)])
        hits += found.word == "REPRODUCED"
    return hits / tables


@pytest.mark.parametrize("tables", [1000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_the_chance_is_that_of_simulated_verdicts(case: Any, tables: int) -> None:
    chance = chance_of_reproduced(*case)
    assert 0.02 < chance < 0.98, "a case that says nothing"
    noise = 4 * math.sqrt(chance * (1 - chance) / tables)
    assert simulated(*case, tables) == pytest.approx(chance, abs=noise)


@pytest.mark.parametrize("case", CASES)
def test_more_points_move_no_chance(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = chance_of_reproduced(*case)
    monkeypatch.setattr(reach, "_SPREADS", 2 * reach._SPREADS)
    monkeypatch.setattr(reach, "_ROUNDINGS", 2 * reach._ROUNDINGS)
    assert chance_of_reproduced(*case) == pytest.approx(chance, abs=0.0005)


@pytest.mark.parametrize("case", CASES)
def test_many_trials_come_to_the_limit(case: Any) -> None:
    margin, half, _, sd, published = case
    assert chance_of_reproduced(margin, half, 20_000, sd, published) == pytest.approx(
        chance_in_the_limit(margin, half, sd, published), abs=0.005
    )


def test_a_true_difference_only_makes_it_smaller() -> None:
    rng = np.random.default_rng(3)
    side = Published(70.0, 69.995, 70.005, Spread(0.5, 4, 5))

    def rate(offset: float) -> float:
        cells = [JudgedCell(side, tuple(rng.normal(70 + offset, 0.8, 5)), 2.0) for _ in range(1500)]
        return sum(judge_table([one])[0].word == "REPRODUCED" for one in cells) / len(cells)

    assert rate(0.0) > rate(0.5) + 0.02
    assert rate(0.5) > rate(1.0) + 0.02


@pytest.mark.parametrize("runs", [1, 3, 5])
@pytest.mark.parametrize("half", [0.005, 0.5])
@pytest.mark.parametrize("sd", [0.2, 1.1, 4.0])
def test_what_is_out_of_reach_is_never_reproduced(sd: float, half: float, runs: int) -> None:
    spread = Spread(sd, 40.0, runs)
    edge = half + 1.6448536 * sd / math.sqrt(runs)
    assert is_out_of_reach(edge * 0.999, half, spread)
    assert not is_out_of_reach(edge * 1.001, half, spread)
    for n in (2, 5, 200):
        # Trials that hardly spread and agree with the print: no result could be better.
        trials = tuple(70 + 1e-6 * np.arange(n))
        side = Published(70.0, 70.0 - half, 70.0 + half, spread)
        (found,) = judge_table([JudgedCell(side, trials, edge * 0.999)])
        assert found.word != "REPRODUCED"


def test_one_trial_has_no_chance_to_ask_for() -> None:
    with pytest.raises(ValueError, match="1 trial"):
        chance_of_reproduced(2.0, 0.005, 1, 0.5, None)
