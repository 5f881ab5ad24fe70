"""Runs on a GPU, where there is one: of each stage and folder of methods, one run."""

import numpy as np
import pytest
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.training.training import train_trial
from fedrepro.methods import registry
from fedrepro.methods.outcome import Outcome

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def kind(run: RunConfig) -> str:
    """The folder of a federated method; another run's stage says enough."""
    if run.stage != "federated":
        return run.stage
    return registry.find("federated", run.method).__module__.rsplit(".", 2)[-2]


def trained(run: RunConfig, device: str) -> Outcome:
    encoder = None if run.init_from is None else trained(run.init_from, device).encoder
    outcome, _ = train_trial(run, 0, data_dir=None, device=device, encoder=encoder)
    return outcome


def test_a_run_of_each_family_trains_on_a_gpu_as_on_the_processor() -> None:
    plans = [make_plan(load_paper(paper), "smoke") for paper in paper_ids()]
    for run in {kind(run): run for plan in plans for run in plan.runs}.values():
        here, there = trained(run, "cpu"), trained(run, "cuda")
        assert {name: curve.rounds for name, curve in there.metrics.items()} == {
            name: curve.rounds for name, curve in here.metrics.items()
        }
        assert there.counts.keys() == here.counts.keys()
        assert all(np.isfinite(curve.values).all() for curve in there.metrics.values())
        assert all(value.device.type == "cpu" for value in (there.encoder or {}).values())
