"""Contrastive clustering: SimCLR on representations, and a contrast of clusters beside it.

Paper: fedrlc, Eqs. 6 and 13 (C+C), after Li et al. 2021: a second head on the encoder's output
gives soft labels, whose columns are contrasted (`methods.objectives._soft_clusters`). Temperatures:
Section VII-C. As many clusters as classes.
Unstated: the cluster head's hidden width (as wide as the encoder's output, Li et al.).
Evidence: `tests/methods/test_deep_clustering.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import HEAD
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.objectives._networks import dense_layers
from fedrepro.methods.objectives._soft_clusters import cluster_contrast
from fedrepro.methods.objectives.simclr import SimCLR, SimCLRLearner, nt_xent
from fedrepro.methods.state import State


class ContrastiveClusteringLearner(SimCLRLearner):
    """Encoder, projector and cluster head, all shared by the two views."""

    def __init__(self, simclr: SimCLRLearner, head: Layer, cluster_temperature: float) -> None:
        super().__init__(simclr.encoder, simclr.projector, simclr.temperature)
        self.head, self.cluster_temperature = head, cluster_temperature

    def new(self, generator: torch.Generator) -> State:
        return {**super().new(generator), **self.head.new(generator)}

    def loss(
        self, state: State, memory: State, views: Sequence[Tensor], labels: Tensor | None
    ) -> Tensor:
        z_a, z_b, c_a, c_b = self.both_heads(state, views)
        clusters = cluster_contrast(c_a, c_b, self.cluster_temperature)
        return nt_xent(z_a, z_b, self.temperature) + clusters

    def both_heads(
        self, state: State, views: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Projections of two views, then their soft labels, each models x batch x width."""
        h = self.encoder(state, torch.cat(list(views), dim=1), training=True)
        z_a, z_b = self.projector(state, h, training=True).chunk(2, dim=1)
        c_a, c_b = torch.softmax(self.head(state, h, training=True), dim=2).chunk(2, dim=1)
        return z_a, z_b, c_a, c_b


@dataclass(frozen=True)
class ContrastiveClustering(SimCLR):
    """Options of SimCLR; `temperature` is τ_I, `cluster_temperature` τ_C."""

    cluster_temperature: float = 1.0

    def build(self, encoder: Layer, dim: int, n_classes: int) -> ContrastiveClusteringLearner:
        simclr = super().build(encoder, dim, n_classes)
        head = dense_layers(HEAD, dim, (dim, n_classes))
        return ContrastiveClusteringLearner(simclr, head, self.cluster_temperature)
