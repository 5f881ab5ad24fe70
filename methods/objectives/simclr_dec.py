"""SimCLR, and DEC's clustering of its projections added to the loss.

Paper: fedrlc, Eqs. 14 to 16 (C+NC), after Xie et al. 2016: soft labels by a Student-t kernel around
trained centres, drawn to their own sharpened target distribution (`_soft_clusters`).
Unstated: as many centres as classes, random here; federated methods set them by K-means at first.
Evidence: `tests/methods/test_clustering_objectives.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..clusters.soft_assignment import CENTRES
from ..nn.layers import Layer
from ..state import State
from ._soft_clusters import CentredLearner, embedded_clustering
from .base import Views
from .simclr import SimCLR, SimCLRLearner, nt_xent


class SimCLRDECLearner(SimCLRLearner, CentredLearner):
    """Encoder and projector, and centres in the projector's output."""

    def __init__(self, encoder: Layer, dim: int, n_clusters: int, options: SimCLRDEC) -> None:
        super().__init__(encoder, dim, options)
        self.n_clusters, self.width = n_clusters, options.projector_widths[-1]

    def embed(self, state: State, x: Tensor, training: bool) -> Tensor:
        h = self.encoder(state, x, training)  # models x batch x dim
        return self.projector(state, h, training)  # models x batch x width

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        z = self.embed(state, torch.cat(list(views), dim=1), True)  # models x 2 batch x width
        z_a, z_b = z.chunk(2, dim=1)  # models x batch x width
        clustering = embedded_clustering(z_a, z_b, state[CENTRES])  # models
        return nt_xent(z_a, z_b, self.temperature) + clustering  # models


@dataclass(frozen=True)
class SimCLRDEC(SimCLR):
    """Options of SimCLR."""

    def build(self, encoder: Layer, dim: int, n_classes: int) -> SimCLRDECLearner:
        return SimCLRDECLearner(encoder, dim, n_classes, self)
