"""`--on mnist` and `--on cifar10`: reduced runs on other data, for whoever has the files."""

import pytest

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper, paper_ids

ON = ("mnist", "cifar10")
UNLIKE = {"mnist": "cifar10", "cifar10": "mnist"}
"""CP-CFL also pre-trains on images that are unlike those of the clients."""


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("id", paper_ids())
def test_every_paper_can_be_run_on_other_data(id: str, on: str) -> None:
    paper = load_paper(id)
    default, other = (make_plan(paper, "reduced", on=one) for one in (None, on))
    trained = [run for run in other.runs if run.stage != "costs"]
    assert {run.data["name"] for run in trained} <= {on, UNLIKE[on]}
    assert {run.data["name"] for run in trained if run.stage == "federated"} == {on}
    assert {run.method for run in other.shown} == {run.method for run in default.shown}
    assert other.trials == default.trials


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("id", paper_ids())
def test_pretraining_sees_no_image_that_a_client_holds(id: str, on: str) -> None:
    """Halves of one set share no image (`tests/benchmark/data/test_loading.py`)."""
    for run in make_plan(load_paper(id), "reduced", on=on).runs:
        before = run.start
        while before is not None:
            if before.stage == "pretraining" and before.data["name"] == run.data["name"]:
                assert (run.data["part"], before.data["part"]) == ("train-a", "train-b")
            before = before.start
