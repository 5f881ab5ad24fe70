"""Trains clients, from random weights or from the encoder of another run."""

from __future__ import annotations

from benchmark.stages.trial import Trial, made
from methods.engine import loop
from methods.federated.base import Task
from methods.models.classifier import Classifier, dense_head
from methods.outcome import Outcome


def run(trial: Trial) -> Outcome:
    """Metrics over rounds of the method that the trial's config names.

    Raises `methods.outcome.DivergedError` if training leaves the finite numbers.
    """
    config = trial.config
    assert config.head is not None
    federation = trial.federation()
    network, dim = trial.network()
    head = dense_head(dim, config.head["widths"], federation.n_classes)
    task = Task(
        federation=federation,
        model=Classifier(network, dim, head),
        seeds=trial.seeds,
        device=trial.device,
        encoder=trial.encoder,
        objective=trial.objective(),
        augmentation=trial.augmentation(),
        source=trial.source(),
    )
    return loop.run(made("federated", config.method, config.options), task, trial.progress)
