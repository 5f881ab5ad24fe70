"""Evaluates the weights that the run starts from with a protocol."""

from dataclasses import replace

from ....methods import registry
from ....methods.checkpoint import NEVER
from ....methods.outcome import Outcome, mean_over_models
from ....methods.protocols.base import Protocol, Subject
from ....methods.state import n_models, take
from .trial import StageInput


def run(trial: StageInput) -> Outcome:
    """Metrics of the protocol that the config names; `ValueError` if it cannot be applied."""
    config = trial.config
    assert trial.encoder is not None
    protocol: Protocol = registry.make("protocol", config.method, config.options)
    network, dim = trial.network()
    train = trial.load(config.data, config.data["part"])
    tested = config.data["test_part"]
    subject = Subject(
        network=network,
        dim=dim,
        weights=trial.encoder,
        train=train.portion,
        test=None if tested is None else trial.load(config.data, tested).portion,
        n_classes=train.n_classes,
        seeds=trial.seeds,
        device=trial.device,
        source=trial.source,
        federation=trial.federation() if config.clients is not None else None,
        augmentation=trial.augmentation(),
        progress=trial.progress,
        checkpoint=trial.checkpoint,
    )
    outcome = measure(protocol, subject)
    trial.progress(1, 1)
    return outcome


def measure(protocol: Protocol, subject: Subject) -> Outcome:
    """Metrics of one model; of several stacked ones (clients that trained alone), their means."""
    models = n_models(subject.weights)
    if models == 1:
        return protocol.measure(subject)
    measured: list[Outcome] = subject.checkpoint.restored() or []
    for model in range(len(measured), models):
        subject.checkpoint.at(lambda: measured)
        one = replace(subject, weights=take(subject.weights, [model]), checkpoint=NEVER)
        measured.append(protocol.measure(one))
    return mean_over_models(measured)
