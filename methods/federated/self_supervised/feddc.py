"""FedDC: DeepCluster-v2 on every client, networks averaged.

Paper: fcl, Section 6 (Caron et al. 2018 and 2020 with FedAvg). Loss and clustering:
`methods.objectives._deepcluster`.
Unstated: who clusters what (every client its own images, before each local epoch; centroids stay
with the client, since clusters of other clients are not the same).
Evidence: `tests/methods/test_fedca.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...data.federation import to_float
from ...objectives._deepcluster import DeepCluster, DeepClusterLearner
from ...state import State
from ...training.local_loss import Batch, LocalLoss
from ...training.self_supervised import SelfSupervisedLoss
from ..base import Round, Task
from ._self_supervised import SelfSupervised, build_learner

CLUSTERS = "clusters"
_AT_ONCE = 500


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
        """Features of the images themselves, models x images x width; own: as in `begin_epoch`."""
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
        own = DeepCluster(
            self.temperature, self.projector_widths, self.normalised_layers, self.prototypes
        )
        learner = build_learner(own, task.model, task.federation.n_classes)
        assert isinstance(learner, DeepClusterLearner)
        return learner

    def local_loss(self, now: Round) -> LocalLoss:
        return ClusterLoss(self.learner(now.task), now)
