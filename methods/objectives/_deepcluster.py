"""DeepCluster-v2: cluster the features of all images, then predict each image's cluster.

Paper: Caron et al. 2020, Appendix (after Caron et al. 2018): spherical k-means on the projected
features before each epoch; the centroids are the classifier's weights until the next clustering, so
that no classifier starts from nothing.
Departures: one clustering instead of three; images are clustered by fresh features of the whole
network in evaluation mode, not by those that the last epoch left; two views, no smaller crops.
A spec cannot choose it by name: the method that trains it has to cluster the images
(`methods.federated.self_supervised.feddc`).
Evidence: `tests/methods/test_fedca.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..clusters.kmeans import kmeans
from ..nn.layers import Layer
from ..state import State
from ._networks import ProjectingLearner
from .base import Objective, Views

CENTROIDS = "centroids"


class DeepClusterLearner(ProjectingLearner):
    """Encoder and projector; the centroids are the memory."""

    def __init__(self, encoder: Layer, dim: int, options: DeepCluster) -> None:
        super().__init__(encoder, dim, options.projector_widths, options.normalised_layers)
        self.options = options

    def memory(self, state: State) -> State:
        """Centroids at zero, until the first clustering."""
        like = next(iter(state.values()))
        return {CENTROIDS: like.new_zeros(like.shape[0], self.options.prototypes, self.width)}

    def cluster(
        self, memory: State, features: Tensor, generators: Sequence[torch.Generator]
    ) -> Tensor:
        """Sets the centroids by features models x images x width; each image's cluster, int64."""
        memory[CENTROIDS], clusters = kmeans(
            features, self.options.prototypes, generators, spherical=True
        )
        return clusters

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        """Cross-entropy of both views against the images' clusters, `labels`."""
        assert labels is not None
        z = self.project(state, torch.cat(list(views), dim=1))  # models x 2 batch x width
        # models x 2 batch x prototypes
        logits = torch.bmm(z, memory[CENTROIDS].transpose(1, 2)) / self.options.temperature
        clusters = labels.repeat(1, len(views))  # models x 2 batch
        return F.cross_entropy(logits.transpose(1, 2), clusters, reduction="none").mean(1)


@dataclass(frozen=True)
class DeepCluster(Objective):
    """prototypes: clusters. normalised_layers: layers of the projector with batch normalisation."""

    temperature: float = 0.1
    projector_widths: tuple[int, ...] = (512, 128)
    normalised_layers: int = 1
    prototypes: int = 100

    def build(self, encoder: Layer, dim: int, n_classes: int) -> DeepClusterLearner:
        return DeepClusterLearner(encoder, dim, self)
