from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec.layers import Layered, layered
from fedrepro.benchmark.spec.model import Experiment, Origin, Override
from fedrepro.benchmark.spec.settings import get

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


OVER = Origin("profile", "w")


def applied(experiment: Experiment, *overrides: Override) -> Layered:
    return layered(
        ((Origin("profile", one.why), one) for one in overrides), Layered(experiment, {})
    )


@given(st.lists(overrides, max_size=4), st.lists(overrides, max_size=4))
def test_overrides_in_order_follow_one_another(some: list[Override], more: list[Override]) -> None:
    first = applied(CELL, *some)
    second = layered(((Origin("profile", one.why), one) for one in more), first)
    both = applied(CELL, *some, *more)
    assert (both.settings, both.origin) == (second.settings, second.origin)


def test_a_setting_has_the_origin_of_the_last_layer_that_gives_it() -> None:
    authors, row = Origin("authors", "their code"), Origin("row")
    found = layered(
        [
            (authors, {"training": {"rounds": 9, "learning_rate": 0.1}}),
            (row, {"training": {"rounds": 100}, "method": "fedavg"}),
            (OVER, Override("training.rounds", divide=5, why="w")),
            (OVER, Override("head.widths", divide=5, why="w")),
        ]
    )
    assert found.settings == {"training": {"rounds": 20, "learning_rate": 0.1}, "method": "fedavg"}
    assert found.origin == {
        "training.learning_rate": authors, "method": row, "training.rounds": OVER,
    }  # fmt: skip
    assert found.effective == {0, 1, 2}


def test_a_change_with_where_is_made_where_the_setting_has_such_a_value() -> None:
    alone = Override("clients.data", "noise", value="noise", where=("clients.count", "5", "60"))
    assert get(applied(CELL, alone).settings, "clients.data") == "noise"
    fewer = Override("clients.count", "fewer", divide=5)
    assert get(applied(CELL, fewer, alone).settings, "clients.data") == "stl10"


@given(st.integers(1, 500), st.integers(1, 60))
def test_division_rounds_half_up_and_stays_at_least_one(value: int, by: int) -> None:
    changed = applied({"at": value}, Override("at", divide=by, why="w"))
    assert changed.settings == {"at": max(1, (2 * value + by) // (2 * by))}


def test_lists_are_divided_item_by_item() -> None:
    changed = applied(CELL, Override("encoder.widths", divide=4, why="w"))
    assert get(changed.settings, "encoder.widths") == [16, 32]


def test_a_word_for_the_round_that_is_read_is_not_divided() -> None:
    assert applied({"at": "final"}, Override("at", divide=3, why="w")).effective == frozenset()


@pytest.mark.parametrize(
    ("path", "replace", "value"),
    [
        ("clients.data", {"stl10": "digits"}, "digits"),
        ("clients.data", {"mnist": "digits"}, "stl10"),
        ("clients.count", {"60": 12}, 12),
    ],
)
def test_replacing_depends_on_the_cells_own_value_as_text(
    path: str, replace: dict[str, Any], value: Any
) -> None:
    assert get(applied(CELL, Override(path, replace=replace, why="w")).settings, path) == value


def test_an_override_that_changes_nothing_leaves_no_trace() -> None:
    overrides = [
        Override("clients.count", "no change", 60),
        Override("training.participation", divide=2, why="not given"),
        Override("clients.data", replace={"stl10": "digits"}, why="first"),
        Override("clients.data", replace={"digits": "mnist"}, why="second"),
    ]
    changed = applied(CELL, *overrides)
    assert changed.origin == {"clients.data": Origin("profile", "second")}
    assert changed.effective == {2, 3}


def test_a_given_value_is_set_even_where_there_was_none() -> None:
    changed = applied(CELL, Override("head.widths", "no such section", [8]))
    assert changed.settings == {**CELL, "head": {"widths": [8]}}


def test_fractions_cannot_be_divided() -> None:
    with pytest.raises(SpecError, match=r"training\.learning_rate: only whole numbers"):
        applied(CELL, Override("training.learning_rate", divide=2, why="w"))
