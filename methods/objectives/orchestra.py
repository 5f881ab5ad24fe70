"""Orchestra's local objective: agree with a slow copy on which global cluster an image belongs to.

Paper: Lubana et al. 2022, "Orchestra: unsupervised federated learning via globally consistent
clustering", Section 4. The target network assigns one view softly to the global centroids. The
online network predicts this from the other view (cross-entropy at temperature T). Predicting by how
many quarter turns a view was turned keeps the network from degenerating.
Unstated: which image is turned how far (by its place in the shuffled batch, modulo 4). The global
centroids are in memory as `centroids` (models x clusters x width) and are random until a server
sends others. The target network's representations are queued there for the local clustering.
Evidence: `tests/methods/test_orchestra.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..nn.layers import BatchNorm, Layer, Linear, ReLU, Sequential
from ..state import State, n_models
from ._memory import enqueue, follow, new_queue, target_of, unit
from .base import Learner, Objective, Views

CENTROIDS, QUEUE, TURNS = "centroids", "projections", 4


def cluster_loss(online: Tensor, target: Tensor, centroids: Tensor, temperature: float) -> Tensor:
    """Cross-entropy of assignments, (models,); unit `centroids`: models x clusters x width."""
    scores = centroids.transpose(1, 2) / temperature  # models x width x clusters
    wanted = torch.bmm(target, scores).softmax(2)  # models x batch x clusters
    return -(wanted * torch.bmm(online, scores).log_softmax(2)).sum(2).mean(1)


def turned(x: Tensor) -> tuple[Tensor, Tensor]:
    """Square images models x batch x C x H x W, image i by i quarter turns, and i modulo 4."""
    turns = torch.arange(x.shape[1], device=x.device) % TURNS
    out = torch.empty_like(x)
    for quarter in range(TURNS):
        out[:, quarter::TURNS] = x[:, quarter::TURNS].rot90(quarter, dims=(3, 4))
    return out, turns.expand(x.shape[0], -1)


class OrchestraLearner(Learner):
    """Encoder, projector and classifier of turns; the target network is in memory."""

    def __init__(self, encoder: Layer, dim: int, options: Orchestra) -> None:
        width = options.projector_width
        self.encoder = encoder
        self.projector = Sequential(
            Linear("projector.0", dim, width, bias=False),
            BatchNorm("projector.norm0", width),
            ReLU(),
            Linear("projector.1", width, width, bias=False),
            BatchNorm("projector.norm1", width, affine=False),
        )
        self.turns = Linear("turns", width, TURNS)
        self.networks = (self.encoder, self.projector, self.turns)
        self.options = options

    def memory(self, state: State) -> State:
        o = self.options
        like = next(iter(state.values()))
        stream = torch.Generator().manual_seed(0)
        drawn = torch.randn(1, o.n_global_clusters, o.projector_width, generator=stream)
        centroids = unit(drawn).to(like).expand(n_models(state), -1, -1).clone()
        return {
            **target_of(state),
            CENTROIDS: centroids,
            **new_queue(QUEUE, o.memory_size, o.projector_width, like.detach().flatten(1)[:, :1]),
        }

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        first, second = views
        project = Sequential(self.encoder, self.projector)
        with torch.no_grad():
            target = unit(project(memory, first, training=True))  # models x batch x width
        online = unit(project(state, second, training=True))  # models x batch x width
        clusters = cluster_loss(online, target, memory[CENTROIDS], self.options.cluster_temperature)
        x, turns = turned(first)  # models x batch x C x H x W, models x batch
        z = project(state, x, training=True)  # models x batch x width
        logits = self.turns(state, z, training=True)  # models x batch x 4
        degenerate = F.cross_entropy(logits.transpose(1, 2), turns, reduction="none").mean(1)
        enqueue(memory, QUEUE, target)
        return clusters + degenerate

    def update(self, state: State, memory: State) -> None:
        follow(memory, state, self.options.target_momentum)


@dataclass(frozen=True)
class Orchestra(Objective):
    """n_global_clusters: G. `projector_width`: of both dense layers. `memory_size`: queued
    projections. `cluster_temperature`: T. `target_momentum`: of the target network."""

    positive_samples: ClassVar[bool] = True
    projector: ClassVar[bool] = True
    stop_gradient: ClassVar[bool] = True

    n_global_clusters: int = 128
    projector_width: int = 512
    memory_size: int = 128
    cluster_temperature: float = 0.1
    target_momentum: float = 0.996

    def build(self, encoder: Layer, dim: int, n_classes: int) -> OrchestraLearner:
        return OrchestraLearner(encoder, dim, self)
