"""Trains an encoder centrally with an objective, for other runs to start from."""

from __future__ import annotations

from fedrepro.benchmark.training.stages.trial import Trial
from fedrepro.methods import registry
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.outcome import Outcome
from fedrepro.methods.training.pretraining import PretrainingOptions, pretrain


def run(trial: Trial) -> Outcome:
    """The encoder, and the loss over epochs.

    Raises `methods.outcome.DivergedError` if training leaves the finite numbers.
    """
    config = trial.config
    loaded = trial.load(config.data, config.data["part"])
    encoder = registry.make("encoder", config.encoder["name"], config.encoder)
    return pretrain(
        registry.make("objective", config.method, config.options),
        encoder,
        loaded.portion,
        loaded.n_classes,
        registry.with_options(PretrainingOptions, config.options),
        registry.with_options(Augmentation, config.augmentation or {}),
        trial.seeds,
        trial.device,
        trial.progress,
        trial.checkpoint,
    )
