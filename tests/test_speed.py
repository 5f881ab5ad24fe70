"""Timings by pytest-benchmark: a table for each shape, with ratios to the fastest. `nox -s bench`
prints them. They are compared within one run, and decide nothing."""

from functools import cache

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from tools.bench import SHAPES, rounds

pytestmark = pytest.mark.speed
built = cache(lambda shape: rounds(SHAPES[shape]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("call", range(5))
def test_speed(benchmark: BenchmarkFixture, shape: str, call: int) -> None:
    torch.set_num_threads(1)
    name, timed = list(built(shape).items())[call]
    benchmark.group, benchmark.name = f"a round, 10 clients, {shape}", name
    benchmark.pedantic(timed, rounds=3, warmup_rounds=1)
