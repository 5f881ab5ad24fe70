"""Trains an encoder centrally with an objective, for other runs to start from."""

from ....methods import registry
from ....methods.data.views.augment import Augmentation
from ....methods.outcome import Outcome
from ....methods.training.pretraining import PretrainingOptions, pretrain
from .trial import StageInput


def run(trial: StageInput) -> Outcome:
    """The encoder, and the loss over epochs; `DivergedError` if training leaves finite numbers."""
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
