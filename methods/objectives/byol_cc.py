"""BYOL on representations, and contrastive clustering's contrast of clusters beside it.

Paper: fedrlc, Eqs. 17 and 18 (NC+C): a cluster head on the online encoder gives soft labels.
Departure: the paper's encoder includes BYOL's projector; the head reads the output of the
encoder proper, as in contrastive clustering (Li et al. 2021) and in C+C. As many clusters as
classes.
Unstated: the cluster head's hidden width (as wide as the encoder's output).
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
from fedrepro.methods.objectives.byol import BYOL, BYOLLearner
from fedrepro.methods.state import State


class BYOLClusteringLearner(BYOLLearner):
    """BYOL's networks and a cluster head on the online encoder."""

    def __init__(self, byol: BYOLLearner, head: Layer, cluster_temperature: float) -> None:
        super().__init__(
            byol.encoder, byol.projector, byol.predictor, byol.momentum, byol.sum_directions
        )
        self.head, self.cluster_temperature = head, cluster_temperature

    def new(self, generator: torch.Generator) -> State:
        return {**super().new(generator), **self.head.new(generator)}

    def loss(
        self, state: State, memory: State, views: Sequence[Tensor], labels: Tensor | None
    ) -> Tensor:
        h = self.encoded(state, views)
        c_a, c_b = (torch.softmax(self.head(state, own, training=True), dim=2) for own in h)
        prediction = self.prediction_loss(self.predictions(state, h), self.targets(memory, views))
        return prediction + cluster_contrast(c_a, c_b, self.cluster_temperature)


@dataclass(frozen=True)
class BYOLCC(BYOL):
    """Options of BYOL; `cluster_temperature` is τ_C."""

    cluster_temperature: float = 1.0

    def build(self, encoder: Layer, dim: int, n_classes: int) -> BYOLClusteringLearner:
        head = dense_layers(HEAD, dim, (dim, n_classes))
        byol = super().build(encoder, dim, n_classes)
        return BYOLClusteringLearner(byol, head, self.cluster_temperature)
