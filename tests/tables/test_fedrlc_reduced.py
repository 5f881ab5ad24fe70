"""FedRLC's reduced profile means something: training beats none, and clusters beat chance."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.training.training import train_trial

pytestmark = pytest.mark.slow

TRIALS = (0, 1, 2)


def config_of(row: str, column: str) -> RunConfig:
    """The run behind a cell of Table 1."""
    plan = make_plan(load_paper("fedrlc"), "reduced", tables=["1"])
    label = tuple(column.split("|"))
    found = next(c.config for c in plan.cells if c.cell.row == (row,) and c.cell.column == label)
    assert found is not None
    return found


@cache
def measured(config: RunConfig, metric: str) -> float:
    """The mean over trials of what the run measures, after the training that it starts from."""
    assert config.start is not None
    total = 0.0
    for trial in TRIALS:
        trained, _ = train_trial(config.start, trial, data_dir=None, device="cpu")
        outcome, _ = train_trial(
            config, trial, data_dir=None, device="cpu", encoder=trained.encoder
        )
        total += outcome.metrics[metric].read("final")
    return total / len(TRIALS)


def untrained(config: RunConfig) -> RunConfig:
    """The same evaluation of the networks as they are drawn: nothing moves at rate zero."""
    assert config.start is not None
    still = {**config.start.options, "learning_rate": 0.0, "rounds": 1, "local_epochs": 1}
    return replace(config, start=replace(config.start, options=still))


@pytest.mark.parametrize("method", ["FedC", "FedNC", "FedNC+NC"])
def test_encoders_are_clearly_better_than_random_ones(method: str) -> None:
    config = config_of(method, "Linear evaluation|IID")
    random = measured(untrained(config), "accuracy")
    # Seen: 0.09 (FedNC+NC) and more. Single trials differ by that much, hence the mean.
    assert measured(config, "accuracy") > random + 0.05


def test_clusters_are_clearly_better_than_chance() -> None:
    config = config_of("FedC+C", "Clustering accuracy|IID")
    # Ten clusters of ten equal classes, 500 images: by chance about 0.15 after matching.
    assert measured(config, "clustering_accuracy") > 0.3
