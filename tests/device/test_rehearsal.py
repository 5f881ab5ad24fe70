"""Runs of every paper on the pretended card: none is refused, and its numbers are the processor's.

By default one run of each stage and folder of methods; `nox -s device` has all of five papers.
"""

from concurrent.futures import Executor

import numpy as np
import pytest

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.methods.outcome import Curve, Outcome
from tests.device import worker
from tests.device.rehearsal import Rehearsed, differences, one_of_each_family

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
    assert differences(one, one) is None
    assert differences(one, other) == "metric accuracy by 0.12"
    assert differences(one, Outcome(other.metrics)) == "one has no ['group']"
