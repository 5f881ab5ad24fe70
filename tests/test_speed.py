"""Timings by pytest-benchmark: a table for each group of calls, with ratios to the fastest.

`nox -s bench` prints them. They are compared within one run, and decide nothing.
"""

from collections.abc import Callable
from functools import cache, partial

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from tools.bench import cases
from tools.bench.shapes import SHAPES

pytestmark = pytest.mark.speed

GROUPS: dict[str, tuple[Callable[[], cases.Group], int]] = {
    **{name: (partial(cases.rounds, shape), 5) for name, shape in SHAPES.items()},
    "views": (cases.views, 3),
}
"""By name: what builds the calls, and how many there are."""
built = cache(lambda name: GROUPS[name][0]())


@pytest.mark.parametrize(
    ("group", "call"), [(name, i) for name, (_, n) in GROUPS.items() for i in range(n)]
)
def test_speed(benchmark: BenchmarkFixture, group: str, call: int) -> None:
    torch.set_num_threads(1)
    calls = built(group).calls
    name = list(calls)[call]
    benchmark.group, benchmark.name = built(group).title, name
    benchmark.pedantic(calls[name], rounds=3, warmup_rounds=1)
    assert len(calls) == GROUPS[group][1]
