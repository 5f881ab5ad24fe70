"""Rotation prediction: by how many quarter turns was the image turned?

Paper: Gidaris et al. 2018, Eqs. 1 and 2: all four rotations are classified, losses averaged.
Unstated by FCL: the classifier (one dense layer) and the views (one augmented, then turned).
Evidence: `tests/methods/test_objectives_with_memory.py` against numpy's `rot90` and a plain loop.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..nn.layers import Layer, dense_layers
from ..state import State
from .base import Learner, Objective, Views

TURNS = 4


def rotations(x: Tensor) -> tuple[Tensor, Tensor]:
    """All quarter turns of square images, models x 4 batch x C x H x W, and how many each has."""
    turned = torch.cat([x.rot90(turns, dims=(3, 4)) for turns in range(TURNS)], dim=1)
    turns = torch.arange(TURNS, device=x.device).repeat_interleave(x.shape[1])
    return turned, turns.expand(x.shape[0], -1)


class RotationLearner(Learner):
    """Encoder and a linear classifier of turns."""

    def __init__(self, encoder: Layer, dim: int) -> None:
        self.encoder = encoder
        self.classifier = dense_layers("rotation", dim, (TURNS,))
        self.networks = (self.encoder, self.classifier)

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        x, turns = rotations(views[0])  # models x 4 batch x C x H x W, models x 4 batch
        h = self.encoder(state, x, training=True)  # models x 4 batch x dim
        logits = self.classifier(state, h, training=True)  # models x 4 batch x 4
        return F.cross_entropy(logits.transpose(1, 2), turns, reduction="none").mean(1)


@dataclass(frozen=True)
class Rotation(Objective):
    """Rotation prediction has no options."""

    n_views: ClassVar[int] = 1

    def build(self, encoder: Layer, dim: int, n_classes: int) -> RotationLearner:
        return RotationLearner(encoder, dim)
