"""Runs of every paper on the pretended card: none is refused, and its numbers are the processor's.

By default one run of each stage and folder of methods; `nox -s device` has all of five papers.
"""

import re
from concurrent.futures import Executor

import numpy as np
import pytest
import torch

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.methods import registry
from fedrepro.methods.outcome import Curve, Outcome
from tests.device import worker
from tests.device.rehearsal import Rehearsed, differences, idle, one_of_each_family

PAPERS = paper_ids()


def told(found: list[Rehearsed]) -> str:
    return "\n".join(f"{one.key} {one.what}: {one.failure}" for one in found if one.failure)


def test_a_run_of_each_family_passes_and_equals_the_processor(card: Executor) -> None:
    for paper, keys in one_of_each_family([make_plan(load_paper(id), "smoke") for id in PAPERS]):
        found = card.submit(worker.rehearsed, paper, keys).result()
        assert len(found) >= len(keys)
        assert not told(found)


@pytest.mark.device
@pytest.mark.parametrize("paper", PAPERS)
def test_every_run_passes_and_equals_the_processor(
    card: Executor, paper: str, record_property: pytest.Function
) -> None:
    found = card.submit(worker.rehearsed, paper, None).result()
    assert len({one.key for one in found}) == len(make_plan(load_paper(paper), "smoke").runs)
    assert not told(found)


def test_a_number_that_differs_is_told() -> None:
    one = Outcome({"accuracy": Curve((1,), (0.5,))}, arrays={"group": np.array([1, 2])})
    other = Outcome({"accuracy": Curve((1,), (0.625,))}, arrays={"group": np.array([1, 2])})
    assert differences(one, one, 0.0) is None
    assert differences(one, other, 0.0) == "metric accuracy by 0.12"
    assert differences(one, other, 0.2) is None
    assert differences(one, Outcome(other.metrics), 1.0) == "one has no ['group']"


def test_weights_that_are_not_compared_do_nothing() -> None:
    runs = make_plan(load_paper("mfcl"), "smoke").runs
    by_channels = {
        run.encoder["group_channels"]: run
        for run in runs
        if run.method == "mfcl" and run.encoder["client_norm"] == "group"
    }
    assert by_channels.keys() > {1, 2}
    stream = torch.Generator().manual_seed(0)
    for channels, run in by_channels.items():
        network = registry.make("encoder", run.encoder["name"], run.encoder).build(3, 16)
        state = network.new(stream)
        biases = re.compile(r"encoder\.module\.\d+\.bias")
        moved = {
            name: value + torch.randn(value.shape, generator=stream)
            if biases.fullmatch(name)
            else value
            for name, value in state.items()
        }
        x = torch.randn(1, 4, 3, 16, 16, generator=stream)
        same = torch.allclose(network(state, x), network(moved, x), atol=1e-4)
        assert same == (channels == 1)
        assert (idle(run).fullmatch("encoder.module.0.bias") is not None) == same
