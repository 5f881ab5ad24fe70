"""FedDC: DeepCluster-v2 on every client, networks averaged.

Papers: fcl, Section 6; Caron et al. 2020, Appendix (after Caron et al. 2018). Spherical k-means
clusters the projected features before each epoch. The centroids are the classifier's weights until
the next clustering, so that no classifier starts from nothing. Networks are averaged as in FedAvg.
Deviations: one clustering instead of three; two views, no smaller crops. Images are clustered by
fresh features of the whole network in evaluation mode, not by those that the last epoch left.
Unstated: who clusters what (every client its own images, before each local epoch). Centroids stay
with the client, since clusters of other clients are not the same.
Evidence: `tests/methods/test_fedca.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from ...clusters.kmeans import kmeans
from ...data.federation import to_float
from ...nn.classifier import Classifier
from ...objectives._networks import ProjectingLearner
from ...objectives.base import Views
from ...state import State
from ...training.local_loss import Batch, LocalLoss
from ...training.self_supervised import SelfSupervisedLoss
from ..base import Round, Task
from ._self_supervised import SelfSupervised

CENTROIDS, CLUSTERS = "centroids", "clusters"
_AT_ONCE = 500


class DeepClusterLearner(ProjectingLearner):
    """Encoder and projector; the centroids are the memory."""

    def __init__(self, model: Classifier, options: FedDC) -> None:
        widths, normalised = options.projector_widths, options.normalised_layers
        super().__init__(model.encoder, model.dim, widths, normalised)
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


class ClusterLoss(SelfSupervisedLoss):
    """Clusters each client's images before an epoch and predicts the clusters in it."""

    def __init__(self, learner: DeepClusterLearner, now: Round) -> None:
        task, views = now.task, now.views()
        super().__init__(learner, task.model.encoder, task.federation.train, views)
        self.clustering, self.now = learner, now

    def begin_epoch(
        self, state: State, client_state: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        clients = self.now.clients[list(members)].tolist()
        seeds, names = self.now.task.seeds, ("clusters", self.now.t, epoch)
        streams = [seeds.generator(*names, client) for client in clients]
        features = self.features(state, own)
        client_state[CLUSTERS] = self.clustering.cluster(client_state, features, streams)

    @torch.no_grad()
    def features(self, state: State, own: Tensor) -> Tensor:
        """Features of the images `own` (see `begin_epoch`), models x images x width."""
        parts = [
            self.clustering.project(state, to_float(self.portion.images[index]), training=False)
            for index in torch.split(own, _AT_ONCE, dim=1)
        ]
        return torch.cat(parts, dim=1)

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        clusters = client_state[CLUSTERS].gather(1, batch.at)  # models x batch
        return self.learner.loss(state, client_state, self.drawn(batch), clusters)


@dataclass(frozen=True)
class FedDC(SelfSupervised):
    """prototypes: clusters of a client's images; temperature and projector as in SwAV."""

    temperature: float = 0.1
    projector_widths: tuple[int, ...] = (512, 128)
    normalised_layers: int = 1
    prototypes: int = 100

    def learner(self, task: Task) -> DeepClusterLearner:
        return _learner(task.model, self)

    def local_loss(self, now: Round) -> LocalLoss:
        return ClusterLoss(self.learner(now.task), now)


@lru_cache(maxsize=8)
def _learner(model: Classifier, method: FedDC) -> DeepClusterLearner:
    return DeepClusterLearner(model, method)
