"""Trains nothing: measures the encoder that the run starts from."""

from __future__ import annotations

from benchmark.stages.trial import Trial
from methods.metrics.relevance import relevance
from methods.outcome import Curve, Outcome


def run(trial: Trial) -> Outcome:
    """Relevance of the pre-training images for the clients', as round 1 of its metric.

    Raises `ValueError` if no pair of different images is left.
    """
    config = trial.config
    assert config.start is not None
    assert trial.encoder is not None
    network, _ = trial.network()
    wanted = config.start.data
    value = relevance(
        network,
        trial.encoder,
        trial.load(wanted, wanted["part"]).portion,
        trial.load(config.data, config.data["part"]).portion,
        trial.seeds,
        device=trial.device,
    )
    trial.progress(1, 1)
    return Outcome(metrics={config.method: Curve((1,), (value,))})
