from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.overrides import Overridden, override
from fedrepro.benchmark.results import Departure
from fedrepro.benchmark.spec.model import Experiment, Override, Readout
from fedrepro.benchmark.spec.settings import get, merge

CELL: dict[str, Any] = {
    "method": "cpcfl",
    "clients": {"data": "stl10", "count": 60},
    "encoder": {"widths": [64, 128]},
    "training": {"rounds": 100, "learning_rate": 0.001},
}
paths = st.sampled_from(["method", "clients.count", "training.rounds", "head.widths", "at"])
overrides = st.builds(Override, paths, st.integers(1, 3), st.just("w")) | st.builds(
    Override, paths, replace=st.just({"60": 12, "1": 2, "cpcfl": "ifca"}), why=st.just("v")
)


def applied(experiment: Experiment, *overrides: Override) -> Overridden:
    return override(experiment, Readout(), overrides)


@given(st.lists(overrides, max_size=4), st.lists(overrides, max_size=4))
def test_overrides_in_order_are_one_after_the_other(
    some: list[Override], more: list[Override]
) -> None:
    first = applied(CELL, *some)
    second = override(first.experiment, first.read, more)
    both = applied(CELL, *some, *more)
    assert (both.experiment, both.read) == (second.experiment, second.read)


@given(st.integers(1, 500), st.integers(1, 60))
def test_division_rounds_half_up_and_stays_at_least_one(value: int, by: int) -> None:
    paths = ("training.rounds", "at")
    overrides = [Override(path, divide=by, why="w") for path in paths]
    longer = merge(CELL, {"training": {"rounds": value}})
    changed = override(longer, Readout(value), overrides)
    expected = max(1, (2 * value + by) // (2 * by))
    assert get(changed.experiment, "training.rounds") == expected
    assert changed.read.at == expected


def test_lists_are_divided_item_by_item() -> None:
    changed = applied(CELL, Override("encoder.widths", divide=4, why="w"))
    assert get(changed.experiment, "encoder.widths") == [16, 32]
    assert changed.departures == [Departure("encoder.widths", "[64, 128]", "[16, 32]", "w")]


def test_replacing_depends_on_the_cells_own_value() -> None:
    replaced = Override("clients.data", replace={"stl10": "digits"}, why="ships with scikit-learn")
    changed = applied(CELL, replaced)
    assert get(changed.experiment, "clients.data") == "digits"
    assert changed.departures == [
        Departure("clients.data", "stl10", "digits", "ships with scikit-learn")
    ]
    other = merge(CELL, {"clients": {"data": "mnist"}})
    assert applied(other, replaced).experiment == other


def test_replacing_matches_numbers_by_their_text() -> None:
    replaced = Override("clients.count", replace={"60": 12}, why="w")
    assert get(applied(CELL, replaced).experiment, "clients.count") == 12


def test_only_real_changes_are_reported_once_each_with_the_last_reason() -> None:
    overrides = [
        Override("clients.count", "no change", 60),
        Override("training.participation", divide=2, why="not given"),
        Override("clients.data", replace={"stl10": "digits"}, why="first"),
        Override("clients.data", replace={"digits": "mnist"}, why="second"),
        Override("training.rounds", "there", 5),
        Override("training.rounds", "and back", 100),
        Override("at", divide=3, why="final stays final"),
    ]
    changed = applied(CELL, *overrides)
    assert changed.departures == [Departure("clients.data", "stl10", "mnist", "second")]
    assert changed.read == Readout("final")
    assert changed.effective == {2, 3, 4, 5}


def test_a_given_value_is_set_even_where_there_was_none() -> None:
    changed = applied(CELL, Override("clients.image_size", "w", 8))
    assert changed.departures == [Departure("clients.image_size", "not given", "8", "w")]
    changed = applied(CELL, Override("head.widths", "no such section", [8]))
    assert changed.experiment == {**CELL, "head": {"widths": [8]}}


def test_changes_come_in_the_order_of_the_overrides() -> None:
    paths = ("training.rounds", "clients.count", "training.learning_rate", "at")
    changed = applied(CELL, *(Override(path, "w", 5) for path in paths))
    assert tuple(one.setting for one in changed.departures) == paths


def test_applying_leaves_the_given_experiment_alone() -> None:
    before = copy.deepcopy(CELL)
    applied(CELL, Override("clients.count", "w", 12))
    assert before == CELL


def test_fractions_cannot_be_divided() -> None:
    with pytest.raises(SpecError, match=r"training\.learning_rate: only whole numbers"):
        applied(CELL, Override("training.learning_rate", divide=2, why="w"))


@pytest.mark.parametrize("ways", [{}, {"value": 1, "divide": 2}, {"divide": 2, "replace": {}}])
def test_an_override_has_exactly_one_way(ways: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one of value, divide and replace"):
        Override("clients.count", why="w", **ways)
