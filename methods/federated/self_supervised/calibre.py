"""Calibre: self-supervised training that keeps encodings in clusters, and an average that prefers
clients whose clusters are tight.

Paper: Calibre, Section IV-B and Algorithm 1: loss l_s + α (l_p + l_n) with α = 0.3
(`methods.objectives._prototypes`), and an aggregation weighted by each client's mean distance
between its samples and their prototypes (Section I); then a linear head for every client (protocol
`personalized-head`).
Readings. The aggregation has no formula: a client with n images and mean distance d weighs n / d,
so that tight clusters count for more, but nobody for more than ten times the mean: a client whose
encodings have collapsed to points would outweigh all others. Distances are Euclidean, between
encodings of length one in evaluation mode and the centres of K-means over all images of the client
after its local training. Algorithm 1's l_c is not defined and training has no labels: it is left
out.
Unstated: K (10) and τ (0.5, the temperature at which the text's distance and line 17's product
are one).
Evidence: `tests/methods/test_calibre.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.clusters.kmeans import kmeans
from fedrepro.methods.federated.base import Memory, Message, Server, Task
from fedrepro.methods.federated.self_supervised._calibrated import (
    Calibrated,
    Regularizers,
    calibrated,
)
from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised
from fedrepro.methods.state import weighted_average
from fedrepro.methods.training.evaluate import features

LEAST = 0.1
"""Distances below so much of the participants' mean count as that much."""


@dataclass(frozen=True)
class Calibre(SelfSupervised):
    """Options of every method and of the objective, and:

    objective: registered name of l_s. prototype_meta, prototype_contrast: whether L_n and L_p are
    in the loss. regularizer_weight: α. n_prototypes: K. prototype_temperature: τ.
    """

    objective: str = "simclr"
    prototype_meta: bool = True
    prototype_contrast: bool = True
    regularizer_weight: float = 0.3
    n_prototypes: int = 10
    prototype_temperature: float = 0.5

    def objective_name(self) -> str:
        return self.objective

    def learner(self, task: Task) -> Calibrated:
        assert task.objective is not None
        options = Regularizers(
            self.prototype_meta,
            self.prototype_contrast,
            self.regularizer_weight,
            self.n_prototypes,
            self.prototype_temperature,
        )
        return calibrated(task.objective, task.model, task.federation.n_classes, options)

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        message = super().local_update(task, download, t, clients, memory)
        own_of = [task.federation.train_of[client] for client in clients.tolist()]
        chosen = torch.arange(len(clients))
        encoded = features(
            task.model, message.each["weights"], chosen, task.federation.train, own_of
        )
        streams = [task.seeds.generator("prototypes", t, client) for client in clients.tolist()]
        apart = mean_distances(encoded, self.n_prototypes, streams)
        return replace(
            message,
            each={**message.each, "divergence": {"divergence": apart}},
            log={**message.log, "divergence": apart},
        )

    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        sizes = task.federation.sizes()[clients].double()
        apart = upload.each["divergence"]["divergence"].double().cpu()
        weight = sizes / apart.clamp(min=max(LEAST * float(apart.mean()), 1e-12))
        return weighted_average(upload.each["weights"], weight.unsqueeze(0))


def mean_distances(
    encoded: Sequence[Tensor], n_prototypes: int, generators: Sequence[torch.Generator]
) -> Tensor:
    """Mean distance of each client's encodings to their centres, (clients,).

    encoded: per client images x dim. Each client draws its first centres from its own generator.
    """
    apart = []
    for z, generator in zip(encoded, generators, strict=True):
        unit = F.normalize(z, dim=1)[None]  # 1 x images x dim
        centres, choice = kmeans(unit, n_prototypes, [generator])  # 1 x K x dim, 1 x images
        apart.append((unit[0] - centres[0, choice[0]]).norm(dim=1).mean())
    return torch.stack(apart)
