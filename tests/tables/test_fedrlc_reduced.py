"""FedRLC's reduced profile means something: training beats none, and clusters beat chance."""

from dataclasses import replace

import pytest

from fedrepro.benchmark.config import RunConfig
from tests.tables.plans import config_of, measured, plan_of, trained

pytestmark = pytest.mark.slow

PLAN = "fedrlc", "reduced", "1"
TRIALS = 3


def untrained(config: RunConfig) -> RunConfig:
    """The same evaluation of the networks as they are drawn: nothing moves at rate zero."""
    still = {**trained(config).options, "learning_rate": 0.0, "rounds": 1, "local_epochs": 1}
    return replace(config, start=replace(trained(config), options=still))


@pytest.mark.parametrize("method", ["FedC", "FedNC", "FedNC+NC"])
def test_encoders_are_clearly_better_than_random_ones(method: str) -> None:
    config = config_of(plan_of(*PLAN), method, "Linear evaluation|IID")
    random = measured(untrained(config), "accuracy", TRIALS)
    # Seen: 0.09 (FedNC+NC) and more. Single trials differ by that much, hence the mean.
    assert measured(config, "accuracy", TRIALS) > random + 0.05


def test_clusters_are_clearly_better_than_chance() -> None:
    config = config_of(plan_of(*PLAN), "FedC+C", "Clustering accuracy|IID")
    # Ten clusters of ten equal classes, 500 images: by chance about 0.15 after matching.
    assert measured(config, "clustering_accuracy", TRIALS) > 0.3
