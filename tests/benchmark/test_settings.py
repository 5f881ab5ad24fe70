import copy
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from fedrepro.benchmark.spec.settings import get, merge, misfit

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
    ("value", "said"),
    [
        ([], "is empty"),
        ([1], "must have at least 2 entries"),
        ([1, "a"], "[2] must be a whole number, not 'a'"),
        ([1, 2], None),
    ],
)
def test_a_list_that_is_too_short_is_refused(value: Any, said: str | None) -> None:
    assert misfit(value, Annotated[tuple[int, ...], Field(min_length=2)]) == said
