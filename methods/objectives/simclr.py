"""SimCLR: two views of an image attract each other and repel all other views of the batch.

Paper: CP-CFL, Section 3.3.1, Eq. 8 (Chen et al. 2020); settings of Section 4.1: two dense layers of
256, ReLU on the first, temperature 0.1.
Unstated: biases (all layers have one), and how losses of anchors are joined (mean over all 2|B|
anchors, as Algorithm 1 averages over images). In an encoder with batch statistics both views
together share them, as in Chen et al.
Evidence: `tests/methods/test_objectives.py` against a plain loop over Eq. 8 and against lightly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..nn.layers import Layer, dense_layers
from ..state import State
from .base import Learner, Objective, Views

_NEVER = -1e9


def nt_xent(z_i: Tensor, z_j: Tensor, temperature: float, valid: Tensor | None = None) -> Tensor:
    """Eq. 8 averaged over all anchors, (models,); `z_i`, `z_j`: models x batch x width. `valid`:
    bool, models x batch; the pairs that count, None for all. Without any the loss is 0."""
    z_i, z_j = F.normalize(z_i, dim=2), F.normalize(z_j, dim=2)
    z = torch.cat([z_i, z_j], dim=1)  # models x 2 batch x width
    not_itself = torch.full((z.shape[1],), -math.inf, device=z.device, dtype=z.dtype).diag()
    # models x 2 batch x 2 batch
    similarity = torch.baddbmm(not_itself, z, z.transpose(1, 2), alpha=1 / temperature)
    positive = (z_i * z_j).sum(2) / temperature  # models x batch
    if valid is None:
        return similarity.logsumexp(2).mean(1) - positive.mean(1)
    anchors = valid.repeat(1, 2)  # models x 2 batch
    # Not minus infinity: a row without anything valid would have no gradient but NaN.
    all_pairs = similarity.masked_fill(~anchors.unsqueeze(1), _NEVER).logsumexp(2)
    total = (all_pairs * anchors).sum(1) - 2 * (positive * valid).sum(1)
    return total / anchors.sum(1).clamp(min=1)


class SimCLRLearner(Learner):
    """Encoder and projector, of which `normalised` layers have batch normalisation."""

    def __init__(self, encoder: Layer, dim: int, options: SimCLR, normalised: int = 0) -> None:
        self.encoder = encoder
        self.projector = dense_layers("projector", dim, options.projector_widths, normalised)
        self.networks: tuple[Layer, ...] = (self.encoder, self.projector)
        self.temperature = options.temperature

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        x = torch.cat(list(views), dim=1)  # models x 2 batch x C x H x W
        h = self.encoder(state, x, training=True)  # models x 2 batch x dim
        z = self.projector(state, h, training=True)  # models x 2 batch x width
        z_i, z_j = z.chunk(2, dim=1)  # models x batch x width
        return nt_xent(z_i, z_j, self.temperature)  # models


@dataclass(frozen=True)
class SimCLR(Objective):
    """Options of SimCLR; `temperature` is τ."""

    positive_samples: ClassVar[bool] = True
    negative_samples: ClassVar[bool] = True
    weight_sharing: ClassVar[bool] = True
    projector: ClassVar[bool] = True

    temperature: float = 0.1
    projector_widths: tuple[int, ...] = (256, 256)

    def build(self, encoder: Layer, dim: int, n_classes: int) -> SimCLRLearner:
        return SimCLRLearner(encoder, dim, self)
