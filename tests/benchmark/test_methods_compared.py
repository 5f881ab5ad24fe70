"""Which methods are compared on which tasks, and what a report says of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fedrepro.benchmark.judging.evidence import Evidence
from fedrepro.benchmark.judging.methods_compared import compare, direction, families
from fedrepro.benchmark.planning.plan import PlannedCell, make_plan
from fedrepro.benchmark.results import Departure
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Readout
from fedrepro.benchmark.spec.names import known
from tests.benchmark.test_judge import Shelf, cell, config, plan_of, table

METHODS = ("fedavg", "ifca", "cpcfl")
SETTINGS = ("STL", "CIFAR", "MNIST")


def run(method: str, setting: str):
    one = config(method)
    return type(one)(**{**one.as_dict(), "start": None, "clients": {"set": setting}})


def planned(
    method, setting, *, id="3", column=None, metric="accuracy", read="final", departures=()
):
    one = cell(method, "50.00", table=id, column=column or setting, metric=metric)
    return PlannedCell(run(method, setting), None, Readout(read), departures, cell=one)


def evidence(cells, values, **more):
    """values: by method and setting, accuracies in trial order."""
    shelf = Shelf(**more)
    for (method, setting), trials in values.items():
        shelf.put(run(method, setting), [[one] for one in trials])
    tables = {one.cell.table: [] for one in cells}
    for one in cells:
        tables[one.cell.table].append(one.cell)
    plan = plan_of([table(own, id=id) for id, own in tables.items()], cells, trials=4)
    return Evidence(plan, shelf)


CELLS = [planned(method, setting) for method in METHODS for setting in SETTINGS]
RNG = np.random.default_rng(5)
VALUES = {
    (method, setting): list(RNG.uniform(0.3, 0.9, 4))
    for method, setting in itertools.product(METHODS, SETTINGS)
}


def test_ranks_and_chances_are_those_of_counting_by_hand():
    (found,) = compare(evidence(CELLS, VALUES))
    assert [one[:2] for one in found.tasks] == [("3", (setting,)) for setting in SETTINGS]
    assert (found.trials, found.left_out, found.scaled) == (4, (), False)
    expected = {
        method: np.mean(
            [
                1 + sum(VALUES[o, s][k] > VALUES[method, s][k] for o in METHODS)
                for s in SETTINGS
                for k in range(4)
            ]
        )
        for method in METHODS
    }
    assert {one.method[0]: one.rank for one in found.methods} == pytest.approx(expected)
    assert [one.rank for one in found.methods] == pytest.approx(sorted(expected.values()))
    for pair in found.pairs:
        a, b = pair.better[0], pair.other[0]
        better = [VALUES[a, s][k] > VALUES[b, s][k] for s in SETTINGS for k in range(4)]
        assert pair.probability == pytest.approx(np.mean(better))
        assert pair.interval[0] <= pair.probability <= pair.interval[1]
        means = [np.mean(VALUES[a, s]) > np.mean(VALUES[b, s]) for s in SETTINGS]
        assert (pair.tasks_better, pair.tasks_worse) == (sum(means), len(means) - sum(means))
    assert len(found.pairs) == 3


def test_a_rank_is_one_more_than_the_chances_of_all_others_against_it():
    (found,) = compare(evidence(CELLS, VALUES))
    for one in found.methods:
        losses = [1 - pair.probability for pair in found.pairs if pair.better == one.method]
        losses += [pair.probability for pair in found.pairs if pair.other == one.method]
        assert one.rank == pytest.approx(1 + sum(losses))


def test_columns_of_the_same_runs_are_one_task_read_at_the_latest_round():
    early = [planned(m, "STL", column="T = 1", read=1) for m in METHODS]
    other = [planned(m, "STL", id="4", column="F1", metric="f1_macro") for m in METHODS]
    best = [planned(m, "STL", id="5", column="best", read="best") for m in METHODS]
    (family,) = families([*early, *best, *CELLS, *other])
    places = [(one.table, one.column, one.metric) for one in family.tasks]
    assert places == [("3", (setting,), "accuracy") for setting in SETTINGS]


def test_the_largest_rectangle_is_compared_and_the_rest_of_the_tasks_after_it():
    more = [planned("apfl", "STL"), planned("ifca", "D"), planned("apfl", "D")]
    more += [planned("ifca", "E"), planned("apfl", "E")]
    first, second = families([*CELLS, *more])
    assert first.methods == tuple((one,) for one in METHODS)
    assert [one.column[0] for one in first.tasks] == list(SETTINGS)
    assert second.methods == (("ifca",), ("apfl",))
    assert [one.column[0] for one in second.tasks] == ["D", "E"]


def test_settings_of_one_method_and_single_tasks_are_no_comparison():
    ablation = [
        PlannedCell(run("cpcfl", f"{row} {s}"), None, Readout(), cell=cell(row, "1.0", column=s))
        for row in ("T = 1", "T = 2")
        for s in SETTINGS
    ]
    assert list(families(ablation)) == []
    assert list(families([planned(m, "STL") for m in METHODS])) == []


def test_a_task_with_a_failed_trial_is_left_out_and_named():
    values = {**VALUES, ("ifca", "CIFAR"): VALUES["ifca", "CIFAR"][:3]}
    failed = {(run("ifca", "CIFAR"), 3): "diverged at round 7"}
    (found,) = compare(evidence(CELLS, values, errors=failed))
    assert [column for _, (column,), _ in found.tasks] == ["STL", "MNIST"]
    assert found.left_out == ("table 3, CIFAR: ifca: trial 3: diverged at round 7",)


def test_trials_that_some_lack_are_not_compared():
    values = {**VALUES, ("ifca", "CIFAR"): VALUES["ifca", "CIFAR"][:3]}
    (found,) = compare(evidence(CELLS, values))
    assert found.trials == 3
    assert compare(evidence(CELLS, {key: one[:1] for key, one in VALUES.items()})) == ()
    assert compare(evidence(CELLS, {})) == ()


def test_less_of_a_variance_is_better():
    cells = [planned(m, s, metric="accuracy_variance") for m in METHODS for s in SETTINGS]
    found = evidence(cells, {})
    for (method, setting), trials in VALUES.items():
        found.store.put(run(method, setting), [[one] for one in trials], metric="accuracy_variance")
    (less,) = compare(found)
    (more,) = compare(evidence(CELLS, VALUES))
    assert [one.method for one in less.methods] == [one.method for one in more.methods][::-1]


def test_a_departure_makes_it_scaled():
    scaled = (Departure("training.rounds", "100", "2", "time"),)
    cells = [*CELLS[1:], planned(METHODS[0], SETTINGS[0], departures=scaled)]
    (found,) = compare(evidence(cells, VALUES))
    assert found.scaled


def test_every_metric_that_ranks_methods_exists():
    ranking = {one for one in known("metric") if direction(one)}
    assert {"accuracy", "f1_macro", "auroc_ovo_weighted", "nmi", "accuracy_variance"} <= ranking
    assert not ranking & {"relevance", "representation_std", "silhouette", "cluster_recovery"}


@pytest.mark.parametrize("id", ["cpcfl", "mfcl", "fedrlc", "calibre", "fcl"])
def test_every_paper_compares_methods_on_two_tasks_or_more(id: str) -> None:
    plan = make_plan(load_paper(id), "paper")
    found = list(families(plan.cells))
    assert found
    for family in found:
        assert len(family.tasks) > 1
        runs = [{task.cells[one].config for one in family.methods} for task in family.tasks]
        for one, other in itertools.combinations(runs, 2):
            assert one != other
