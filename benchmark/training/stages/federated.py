"""Trains clients, from random weights or from the encoder of another run."""

from functools import cache

from ....methods import registry
from ....methods.data.federation import Federation
from ....methods.federated import loop
from ....methods.federated.base import Task
from ....methods.nn.classifier import Classifier, dense_head
from ....methods.outcome import Outcome
from .trial import StageInput


def run(trial: StageInput) -> Outcome:
    """Metrics over rounds of the method that the config names; `DivergedError` if not finite."""
    method = registry.make("federated", trial.config.method, trial.config.options)
    task = task_of(trial, trial.federation())
    metrics = {name: registry.find("metric", name)() for name in trial.config.metrics}
    return loop.run(method, task, trial.progress, checkpoint=trial.checkpoint, metrics=metrics)


def task_of(trial: StageInput, federation: Federation) -> Task:
    """What a method is given: the clients' data, the encoder with its head, random streams."""
    assert trial.config.head is not None
    widths, start = trial.config.head["widths"], trial.config.init_from
    is_pretrained = start is not None and start.stage == "pretraining"

    def model(share: float = 1.0) -> Classifier:
        network, dim = trial.network(share)
        return Classifier(network, dim, dense_head(dim, widths, federation.n_classes))

    return Task(
        federation=federation,
        model=model(),
        seeds=trial.seeds,
        device=trial.device,
        encoder=trial.encoder,
        objective=trial.objective(),
        augmentation=trial.augmentation(),
        source=cache(trial.source) if is_pretrained else None,
        at_width=model,
    )
