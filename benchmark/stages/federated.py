"""Trains clients, from random weights or from the encoder of another run."""

from __future__ import annotations

from benchmark.config import RunConfig
from benchmark.stages.trial import Trial, made
from methods.engine import loop
from methods.engine.grouping import Grouping
from methods.federated.base import Task
from methods.models.classifier import Classifier, dense_head
from methods.models.layers import Layer
from methods.outcome import Outcome


def run(trial: Trial) -> Outcome:
    """Metrics over rounds of the method that the trial's config names.

    Raises `methods.outcome.DivergedError` if training leaves the finite numbers.
    """
    config = trial.config
    federation = trial.federation()
    network, dim = trial.network()
    task = Task(
        federation=federation,
        model=classifier(config, network, dim, federation.n_classes),
        seeds=trial.seeds,
        device=trial.device,
        encoder=trial.encoder,
        grouping=Grouping(threads=trial.threads if trial.device.type == "cpu" else 1),
        objective=trial.objective(),
        augmentation=trial.augmentation(),
        source=trial.source(),
        at_width=lambda share: classifier(config, *trial.network(share), federation.n_classes),
    )
    return loop.run(made("federated", config.method, config.options), task, trial.progress)


def classifier(config: RunConfig, network: Layer, dim: int, n_classes: int) -> Classifier:
    """The encoder with the head that `config` describes."""
    assert config.head is not None
    return Classifier(network, dim, dense_head(dim, config.head["widths"], n_classes))
