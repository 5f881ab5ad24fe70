"""BYOL: from one view, predict what a slowly moving copy of the network makes of the other.

Paper: CP-CFL, Sections 3.3.2 (Eqs. 9-11, Grill et al. 2020) and 4.1 (`_networks`, rate β = 0.9).
Deviations: Eq. 9's norm equals its right-hand side only for vectors of length one, so the code
computes 2 - 2 Sim. Eq. 11 says θ'_q; the target has no predictor, so the projector θ'_g is meant.
Unstated: the two directions are averaged, or added (`sum_directions`) as in fedrlc's Eq. 3. The
factor matters for SGD, not for Adam. Batch normalisation sees one view at a time, and uses the
batch's statistics in the target too, as in Grill et al. Trained weights alone move by Eqs. 10 and
11; the target has running statistics of its own.
Evidence: `tests/methods/test_objectives.py` (torch.nn, loops over Eqs. 9 to 11, lightly).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..nn.layers import Layer, Sequential
from ..state import State
from ._memory import follow, target_of
from ._networks import Predicting, PredictingLearner
from .base import Views


def distance(p: Tensor, z: Tensor) -> Tensor:
    """Eq. 9 averaged over the batch, (models,); `p`, `z`: models x batch x width."""
    return 2 - 2 * F.cosine_similarity(p, z, dim=2).mean(1)


class BYOLLearner(PredictingLearner):
    """Online encoder, projector and predictor; the target network is the memory."""

    def __init__(self, encoder: Layer, dim: int, options: BYOL) -> None:
        super().__init__(encoder, dim, options)
        self.momentum, self.sum_directions = options.momentum, options.sum_directions

    def memory(self, state: State) -> State:
        """θ'_f and θ'_g under the names of θ_f and θ_g; they begin as copies."""
        return target_of(state)

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        p = self.predictions(state, self.encoded(state, views))
        return self.prediction_loss(p, self.targets(memory, views))

    def encoded(self, state: State, views: Views) -> list[Tensor]:
        """The online encoder's output of each view, models x batch x dim."""
        return [self.encoder(state, x, training=True) for x in views]

    def predictions(self, state: State, h: Sequence[Tensor]) -> list[Tensor]:
        """The predictor's output of each view, models x batch x width, from the encoder's."""
        predict = Sequential(self.projector, self.predictor)
        return [predict(state, own, training=True) for own in h]

    @torch.no_grad()
    def targets(self, memory: State, views: Views) -> list[Tensor]:
        """The target projector's output of each view, models x batch x width."""
        project = Sequential(self.encoder, self.projector)
        return [project(memory, x, training=True) for x in views]

    def prediction_loss(self, p: Sequence[Tensor], z: Sequence[Tensor]) -> Tensor:
        """Both directions, (models,), from `predictions` p and `targets` z of two views."""
        total = distance(p[0], z[1]) + distance(p[1], z[0])
        return total if self.sum_directions else total / 2

    def update(self, state: State, memory: State) -> None:
        """Eqs. 10 and 11."""
        follow(memory, state, self.momentum)


@dataclass(frozen=True)
class BYOL(Predicting):
    """BYOL with `momentum` β; `sum_directions`: add the two directions' losses, else their mean."""

    momentum: float = 0.9
    sum_directions: bool = False

    def build(self, encoder: Layer, dim: int, n_classes: int) -> BYOLLearner:
        return BYOLLearner(encoder, dim, self)
