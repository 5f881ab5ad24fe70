"""Trials that repeat others under new seeds are named and counted once."""

import numpy as np
import pytest

from fedrepro.benchmark.external.rows import Row
from fedrepro.benchmark.judging.evidence import copied_seeds
from fedrepro.benchmark.judging.external import judge_external
from fedrepro.benchmark.spec.load import load_paper

ROWS = ("FedAvg|None", "FedAvg|SimCLR", "IFCA|None", "IFCA|FedAvg", "CP-CFL|SimCLR")


def runs(rng, repeat, grid=0.01):
    """Five runs of ten trials, trial k of which repeats trial `repeat[k]`; values on a grid."""
    drawn = np.round(rng.normal(50, 2, (5, 10)) / grid) * grid
    return [dict(enumerate(values[repeat])) for values in drawn]


@pytest.mark.parametrize(
    ("repeat", "copies"),
    [
        ([0] * 10, dict.fromkeys(range(1, 10), 0)),
        ([0, 1] * 5, {seed: seed % 2 for seed in range(2, 10)}),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 0], {9: 0}),
        (list(range(10)), {}),
    ],
)
def test_seeds_that_are_equal_in_all_runs_are_copies(repeat, copies):
    assert copied_seeds(runs(np.random.default_rng(1), repeat)) == copies


def test_one_run_shows_no_copies_and_one_run_that_differs_clears_them():
    repeated = runs(np.random.default_rng(2), [0] * 10)
    assert copied_seeds(repeated[:1]) == {}
    assert copied_seeds([*repeated, {seed: seed / 7 for seed in range(10)}]) == {}


def test_equal_values_of_a_coarse_metric_are_seldom_taken_for_copies():
    rng = np.random.default_rng(3)
    for count in (2, 3, 5):
        found = [copied_seeds(runs(rng, list(range(10)), grid=0.5)[:count]) for _ in range(400)]
        assert sum(map(bool, found)) <= 2


@pytest.mark.parametrize("trials", [1, 2])
def test_copied_trials_reproduce_nothing_and_are_named(trials):
    rng, values = np.random.default_rng(4), dict[str, list[float]]()
    for row, printed in zip(ROWS, (42.7, 56.0, 65.8, 68.6, 76.7), strict=True):
        values[row] = [round(printed + rng.normal(0, 0.3), 2) for _ in range(trials)]
    rows = [
        Row(f"r:{seed}", "11", row, "Mean ± SD", seed, values[row][seed % trials])
        for row in ROWS
        for seed in range(10)
    ]
    paper = load_paper("cpcfl")
    report = judge_external(paper, rows, command="test", protocol="full", audit=False)
    [table] = report.tables
    judged = [one for one in table.cells if one.mean is not None and one.column[0] == "Mean ± SD"]
    assert {one.verdict.word for one in judged} == {"INCONCLUSIVE"}
    assert all("copies are counted once" in one.verdict.reason for one in judged)
    assert table.word == "OPEN"
    assert not {one.word for one in table.claims} & {"HOLDS", "OPPOSITE", "ABSENT"}


def test_runs_without_values_are_no_evidence_of_copies():
    alone = {0: 76.1, 1: 76.1, 2: 75.0}
    assert copied_seeds([alone, *({} for _ in range(9))]) == {}
    assert copied_seeds([alone, *(dict(alone) for _ in range(9))]) == {1: 0}
