import copy
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.spec import settings
from fedrepro.benchmark.spec.settings import get, merge
from fedrepro.methods import registry

keys = st.sampled_from(["a", "b", "c", "d"])
nested = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda below: st.dictionaries(keys, below, max_size=3),
    max_leaves=8,
)
experiments = st.dictionaries(keys, nested, max_size=4)


def leaf_paths(tree: Any) -> set[str]:
    """Plain recursion over mappings, an empty one being no leaf."""
    found = set()
    for key, value in tree.items():
        if isinstance(value, dict):
            found |= {f"{key}.{below}" for below in leaf_paths(value)}
        else:
            found.add(key)
    return found


@given(experiments, experiments)
def test_a_later_layer_wins_at_every_leaf_and_the_layers_stay_as_they_are(
    low: dict[str, Any], high: dict[str, Any]
) -> None:
    before = copy.deepcopy((low, high))
    merged = merge(low, high)
    for path in leaf_paths(high):
        assert get(merged, path) == get(high, path)
    for path in leaf_paths(low):
        parts = path.split(".")
        above = {".".join(parts[:i]) for i in range(1, len(parts))}
        if get(high, path) is None and not above & leaf_paths(high):
            assert get(merged, path) == get(low, path)
    assert (low, high) == before
    assert leaf_paths(merged) <= leaf_paths(low) | leaf_paths(high)


@given(experiments, experiments, experiments)
def test_merging_is_associative(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert merge(a, b, c) == merge(merge(a, b), c)


@pytest.mark.parametrize(
    ("value", "hint", "said"),
    [
        (True, int, "must be a whole number, not true"),
        (2.5, int, "must be a whole number, not 2.5"),
        ("3", int, "must be a whole number, not '3'"),
        (1, str, "must be text, not 1"),
        (1, bool, "must be true or false, not 1"),
        (3, tuple[int, ...], "must be a list, not 3"),
        ([1, "a"], tuple[int, ...], "[2] must be a whole number, not 'a'"),
        ("rmsprop", Literal["adam", "sgd"], "must be 'adam' or 'sgd', not 'rmsprop'"),
        (float("nan"), float, "must be a number, not nan"),
    ],
)
def test_a_wrong_type_is_one_clear_line(value: Any, hint: Any, said: str) -> None:
    assert settings.misfit(value, hint) == said


@pytest.mark.parametrize("kind", ["federated", "objective", "encoder", "partition"])
def test_every_option_of_every_class_is_a_known_key(kind: str) -> None:
    sections = [s for s, kinds in settings.SECTIONS.items() if kind in kinds]
    assert sections
    for name in registry.names(kind):
        for option in settings.fields_of(registry.find(kind, name)):
            for section in sections:
                assert f"{section}.{option}" in settings.known_paths()
                assert settings.is_known(f"{section}.{option}")


def test_known_options_are_checked_with_their_types() -> None:
    assert settings.problem("training.rounds", 5) is None
    for path, value, said in [
        ("training.round", 5, "did you mean 'training.rounds'?"),
        ("training.rounds", "5", "must be a whole number, not '5'"),
        ("encoder", "cnn", "'encoder' is a group of keys"),
    ]:
        assert said in str(settings.problem(path, value))
