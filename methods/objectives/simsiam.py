"""SimSiam: from one view, predict the projection of the other, which receives no gradient.

Paper: CP-CFL, Section 3.3.3, Eq. 12 (Chen and He 2021); networks as in BYOL (Section 4.1).
Unstated: both directions are used and averaged, as in Chen and He (the paper: "can also be
swapped"). Batch normalisation sees one view at a time and learns scale and shift everywhere.
Evidence: `tests/methods/test_objectives.py` (torch.nn, a loop over Eq. 12, lightly).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from ..nn.layers import Layer, Sequential
from ..state import State
from ._networks import Predicting, PredictingLearner
from .base import Views


def negative_similarity(p: Tensor, z: Tensor) -> Tensor:
    """Eq. 12 averaged over the batch, (models,); `p`, `z`: models x batch x width."""
    return -F.cosine_similarity(p, z.detach(), dim=2).mean(1)


class SimSiamLearner(PredictingLearner):
    """Encoder, projector and predictor, all shared by the two views."""

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        project = Sequential(self.encoder, self.projector)
        z_i, z_j = (project(state, x, True) for x in views)  # models x batch x width
        p_i, p_j = (self.predictor(state, z, True) for z in (z_i, z_j))  # models x batch x width
        return (negative_similarity(p_i, z_j) + negative_similarity(p_j, z_i)) / 2  # models


@dataclass(frozen=True)
class SimSiam(Predicting):
    """Options of the networks."""

    weight_sharing: ClassVar[bool] = True

    def build(self, encoder: Layer, dim: int, n_classes: int) -> SimSiamLearner:
        return SimSiamLearner(encoder, dim, self)
