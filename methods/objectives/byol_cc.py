"""BYOL on representations plus contrastive clustering's contrast of clusters.

Paper: fedrlc, Eqs. 17 and 18 (NC+C): a cluster head on the online encoder gives soft labels.
Deviation: the paper's encoder includes BYOL's projector; the head reads the output of the encoder
proper, as in contrastive clustering (Li et al. 2021) and in C+C. As many clusters as classes.
Unstated: the cluster head's hidden width (as wide as the encoder's output).
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
from .byol import BYOL, BYOLLearner


class BYOLClusteringLearner(BYOLLearner):
    """BYOL's networks and a cluster head on the online encoder."""

    def __init__(self, encoder: Layer, dim: int, n_clusters: int, options: BYOLCC) -> None:
        super().__init__(encoder, dim, options)
        self.head = dense_layers(HEAD, dim, (dim, n_clusters))
        self.networks = (*self.networks, self.head)
        self.cluster_temperature = options.cluster_temperature

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        h = self.encoded(state, views)  # each models x batch x dim
        # each models x batch x clusters
        c_a, c_b = (torch.softmax(self.head(state, own, training=True), dim=2) for own in h)
        prediction = self.prediction_loss(self.predictions(state, h), self.targets(memory, views))
        return prediction + cluster_contrast(c_a, c_b, self.cluster_temperature)  # models


@dataclass(frozen=True)
class BYOLCC(BYOL):
    """Options of BYOL; `cluster_temperature` is τ_C."""

    cluster_temperature: float = 1.0

    def build(self, encoder: Layer, dim: int, n_classes: int) -> BYOLClusteringLearner:
        return BYOLClusteringLearner(encoder, dim, n_classes, self)
