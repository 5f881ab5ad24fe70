"""Contrastive clustering: SimCLR on representations plus a contrast of clusters.

Paper: fedrlc, Eqs. 6 and 13 (C+C), after Li et al. 2021: a second head on the encoder's output
gives soft labels, whose columns are contrasted (`methods.objectives._soft_clusters`). Temperatures:
Section VII-C. As many clusters as classes.
Unstated: the cluster head's hidden width (as wide as the encoder's output, Li et al.).
Evidence: `tests/methods/test_clustering_objectives.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..clusters.soft_assignment import HEAD
from ..nn.layers import Layer, dense_layers
from ..state import State
from ._soft_clusters import cluster_contrast
from .base import Views
from .simclr import SimCLR, SimCLRLearner, nt_xent


class ContrastiveClusteringLearner(SimCLRLearner):
    """Encoder, projector and cluster head, all shared by the two views."""

    def __init__(
        self, encoder: Layer, dim: int, n_clusters: int, options: ContrastiveClustering
    ) -> None:
        super().__init__(encoder, dim, options)
        self.head = dense_layers(HEAD, dim, (dim, n_clusters))
        self.networks = (self.encoder, self.projector, self.head)
        self.cluster_temperature = options.cluster_temperature

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        z_a, z_b, c_a, c_b = self.both_heads(state, views)
        clusters = cluster_contrast(c_a, c_b, self.cluster_temperature)
        return nt_xent(z_a, z_b, self.temperature) + clusters  # models

    def both_heads(self, state: State, views: Views) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Projections of two views, then their soft labels."""
        x = torch.cat(list(views), dim=1)  # models x 2 batch x C x H x W
        h = self.encoder(state, x, training=True)  # models x 2 batch x dim
        z = self.projector(state, h, training=True)  # models x 2 batch x width
        z_a, z_b = z.chunk(2, dim=1)  # models x batch x width
        c = torch.softmax(self.head(state, h, training=True), dim=2)  # models x 2 batch x clusters
        c_a, c_b = c.chunk(2, dim=1)  # models x batch x clusters
        return z_a, z_b, c_a, c_b


@dataclass(frozen=True)
class ContrastiveClustering(SimCLR):
    """Options of SimCLR; `temperature` is τ_I, `cluster_temperature` τ_C."""

    cluster_temperature: float = 1.0

    def build(self, encoder: Layer, dim: int, n_classes: int) -> ContrastiveClusteringLearner:
        return ContrastiveClusteringLearner(encoder, dim, n_classes, self)
