"""What a pre-training objective is: options, networks on top of the encoder, a loss.

An objective never loops over data: `methods.training.pretraining` does so centrally, and a
federated method can do so on its clients, since every tensor carries the `models` dimension.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..nn.layers import Layer, Sequential
from ..state import State

Views = Sequence[Tensor]
"""A batch seen in several ways, each models x batch x C x H x W in [0, 1]."""


class Learner(ABC):
    """An objective bound to an encoder: `__init__` makes the networks, `loss` uses them."""

    networks: Sequence[Layer]
    """What is trained: the encoder first, so that one stream gives every objective the same one."""

    def new(self, generator: torch.Generator) -> State:
        """Fresh trained weights of one model: `encoder.*`, `projector.*`, `predictor.*`, ..."""
        return Sequential(*self.networks).new(generator)

    def memory(self, state: State) -> State:
        """What a step hands to the next but no gradient trains: a target network, a queue."""
        return {}

    @abstractmethod
    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        """Loss of each model (models,), from `views`: each models x batch x C x H x W in [0, 1].
        `labels`: int64, models x batch. Running statistics in `state` and `memory` are updated."""

    def update(self, state: State, memory: State) -> None:  # noqa: B027
        """Changes `memory` in place after an optimiser step."""


@dataclass(frozen=True)
class Objective(ABC):
    """Options of an objective; the fields of a subclass are its options in a spec.
    The class attributes from `positive_samples` on are the columns of CP-CFL's Table 1; for its
    rows `tests/methods/test_objectives.py` holds each of them against what the code does."""

    uses_labels: ClassVar[bool] = False
    n_views: ClassVar[int] = 2

    positive_samples: ClassVar[bool] = False
    negative_samples: ClassVar[bool] = False
    weight_sharing: ClassVar[bool] = False
    projector: ClassVar[bool] = False
    predictor: ClassVar[bool] = False
    stop_gradient: ClassVar[bool] = False

    @property
    def draws_views(self) -> bool:
        """Whether the views are augmented; otherwise the loss sees the images as they are."""
        return True

    @abstractmethod
    def build(self, encoder: Layer, dim: int, n_classes: int) -> Learner:
        """Networks and loss around `encoder`, whose output has width `dim`."""
