from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.spec.settings import merge
from fedrepro.benchmark.spec.shared import Shared

sections = st.dictionaries(
    st.sampled_from("abc"),
    st.integers(0, 3) | st.booleans() | st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)),
)
layers = st.lists(sections, min_size=1, max_size=3)


@given(st.lists(layers, min_size=1, max_size=4))
def test_shared_settings_are_merged_as_others_are(asked: list[list[dict[str, Any]]]) -> None:
    shared, before = Shared(), copy.deepcopy(asked)
    made = [shared.merged(*map(shared.layer, layers)) for layers in asked]
    assert list(map(repr, made)) == [repr(merge(*layers)) for layers in asked]
    assert asked == before


@given(layers, layers)
def test_equal_settings_are_one_object(
    some: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    shared = Shared()
    one, other = (shared.merged(*map(shared.layer, each)) for each in (some, more))
    for name in one.keys() & other.keys():
        assert (one[name] is other[name]) == (repr(one[name]) == repr(other[name]))
    assert (one is other) == (repr(one) == repr(other))
