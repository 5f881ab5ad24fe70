"""Trains clients, from random weights or from the encoder of another run."""

from __future__ import annotations

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.training.stages.trial import Trial
from fedrepro.methods import registry
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Task
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.outcome import Outcome


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
        objective=trial.objective(),
        augmentation=trial.augmentation(),
        source=trial.source(),
        at_width=lambda share: classifier(config, *trial.network(share), federation.n_classes),
    )
    return loop.run(registry.make("federated", config.method, config.options), task, trial.progress)


def classifier(config: RunConfig, network: Layer, dim: int, n_classes: int) -> Classifier:
    """The encoder with the head that `config` describes."""
    assert config.head is not None
    return Classifier(network, dim, dense_head(dim, config.head["widths"], n_classes))
