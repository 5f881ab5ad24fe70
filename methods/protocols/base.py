"""What an evaluation protocol is: from trained weights and data to metrics.

A protocol is a run that starts from another run's weights, so that tables share trained models.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

from ..checkpoint import NEVER, Checkpoint
from ..data.federation import Federation, ImageSet
from ..data.views.augment import Augmentation
from ..nn.layers import Layer
from ..outcome import Curve, Outcome
from ..seeds import Seeds
from ..state import State, part, placed


@dataclass(frozen=True)
class Subject:
    """What is evaluated, and on what.

    `network`: the encoder's architecture, `dim` wide. `weights`: one model, all that the training
    saved. `train`, `test`: images to learn from and to measure on (None without `tests`).
    `federation`: who holds which, for protocols with `federated`. `source`: loads the images on
    which the weights were trained. `augmentation`: for protocols with `draws_views`. `checkpoint`:
    saves the measurement between its epochs or rounds, and may bring one to go on with."""

    network: Layer
    dim: int
    weights: State
    train: ImageSet
    test: ImageSet | None
    n_classes: int
    seeds: Seeds
    device: torch.device
    source: Callable[[], ImageSet]
    federation: Federation | None = None
    augmentation: Augmentation | None = None
    progress: Callable[[int, int], None] = lambda done, total: None
    checkpoint: Checkpoint = NEVER

    def on_device(self, prefix: str | None = None) -> State:
        """The weights on `device`; those below `prefix` alone if there is one."""
        chosen = self.weights if prefix is None else part(self.weights, prefix)
        return placed(chosen, self.device)

    def held_out(self) -> ImageSet:
        """The test images. Raises `ValueError` if there are none."""
        if self.test is None:
            raise ValueError("this protocol measures on test images, and there are none")
        return self.test


@dataclass(frozen=True)
class Protocol(ABC):
    """Options of a protocol; the fields of a subclass are its options in a spec."""

    tests: ClassVar[bool] = True
    federated: ClassVar[bool] = False

    @property
    def draws_views(self) -> bool:
        """Whether it draws augmented views, so that the augmentation is part of its run."""
        return False

    @abstractmethod
    def measure(self, subject: Subject) -> Outcome:
        """Metrics, each with one value at round 1, or a curve over the protocol's own rounds."""


def once(metrics: Mapping[str, float]) -> dict[str, Curve]:
    """Metrics that are measured once, at round 1."""
    return {name: Curve((1,), (value,)) for name, value in metrics.items()}
