"""Timings by pytest-benchmark: a table for each group of calls. None of them decides a test.

`nox -s bench` runs them, and then `tests.benchmarks.table`, which takes the calls of a group in
turns and writes ratios of medians.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks import cases
from tests.benchmarks.shapes import SHAPES

pytestmark = pytest.mark.speed

GROUPS: dict[str, tuple[Callable[[], cases.Group], list[str]]] = {
    **{
        name: (
            partial(cases.rounds, shape, clients=10),
            ["channels last", "plain loop", "engine", "engine, ten as one step"],
        )
        for name, shape in SHAPES.items()
    },
    "unlike": (
        partial(cases.unlike_rounds, SHAPES["8x8 digits"]),
        ["one after the other", "equal sizes together", "engine"],
    ),
    "two cores": (
        partial(cases.rounds_on_two_cores, SHAPES["28x28 LeNet"], 10),
        ["one core", "two threads an operator"],
    ),
    "unlike clients": (
        partial(cases.growth_with_unlike_clients, (10, 100)),
        ["10 clients", "100 clients"],
    ),
    "clients": (partial(cases.growth_with_clients, (10, 100)), ["10 clients", "100 clients"]),
    "images": (cases.growth_with_images, ["32 images", "128 images", "512 images"]),
    "models": (cases.growth_with_models, ["1 models", "8 models"]),
    "views": (cases.views, ["batched", "PIL, image by image", "torchvision v2, image by image"]),
    "SimCLR": (cases.simclr_steps, ["without views", "with batched views"]),
}
built = cache(lambda name: GROUPS[name][0]())


@pytest.mark.parametrize(
    ("group", "call"), [(group, call) for group, (_, calls) in GROUPS.items() for call in calls]
)
def test_speed(benchmark: BenchmarkFixture, group: str, call: str) -> None:
    benchmark.group = built(group).title
    benchmark.pedantic(built(group).calls[call], rounds=3, warmup_rounds=1)
