"""`--on mnist` and `--on cifar10`: reduced runs on other data, for whoever has the files."""

from functools import cache

import pytest

from fedrepro.benchmark.config import chain
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.load import load_paper, paper_ids

UNLIKE = {"mnist": "cifar10", "cifar10": "mnist"}
"""CP-CFL also pre-trains on images that are unlike those of the clients."""


@cache
def reduced(id: str, on: str | None = None) -> Plan:
    return make_plan(load_paper(id), "reduced", on=on)


@pytest.mark.parametrize("on", UNLIKE)
@pytest.mark.parametrize("id", paper_ids())
def test_every_paper_can_be_run_on_other_data(id: str, on: str) -> None:
    default, other = reduced(id), reduced(id, on)
    trained = [run for run in other.runs if run.stage != "costs"]
    assert {run.data["name"] for run in trained} <= {on, UNLIKE[on]}
    assert {run.data["name"] for run in trained if run.stage == "federated"} == {on}
    assert {run.method for run in other.shown} == {run.method for run in default.shown}
    assert other.trials == default.trials


@pytest.mark.parametrize("on", UNLIKE)
def test_pretraining_sees_no_image_that_a_client_holds(on: str) -> None:
    """Halves of one set share no image (`tests/benchmark/data/test_loading.py`)."""
    parts = {
        (run.data["part"], before.data["part"])
        for id in paper_ids()
        for run in reduced(id, on).runs
        for before in chain(run.init_from)
        if before.stage == "pretraining" and before.data["name"] == run.data["name"]
    }
    assert parts == {("train-a", "train-b")}
