"""MoCo: a query attracts the key of the same image and repels a queue of earlier keys.

Paper: He et al. 2020, Eqs. 1 and 2 and Algorithm 1. The projector of two layers and the temperature
0.2 are those of Chen et al. 2020 (MoCo v2). Keys come from a slowly moving copy of the network:
θ_k ← m θ_k + (1 - m) θ_q. The loss is also FCL's Eq. 1.
Deviations: the queue starts empty (`_memory`). Shuffled batch normalisation is left out: it stops a
device from recognising the images of its own sub-batch, and batches are not divided here. Running
statistics of the copy move with its own batches, as in the code of He et al.
Evidence: `tests/methods/test_objectives_with_memory.py` (a plain loop over Eq. 1, a deque).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..nn.layers import Layer
from ..state import State
from ._memory import enqueue, follow, is_filled, new_queue, target_of
from ._networks import ProjectingLearner
from .base import Objective, Views

QUEUE = "queue"


def info_nce(
    q: Tensor, k: Tensor, negatives: Tensor, temperature: float, valid: Tensor | None = None
) -> Tensor:
    """Eq. 1 for each query, models x batch. `q`, `k`: models x batch x width; `negatives`: models x
    n x width; all of length one. `valid`: bool, models x n; the negatives that count, None for all.
    Without negatives the loss is zero."""
    positive = (q * k).sum(2, keepdim=True) / temperature  # models x batch x 1
    others = torch.bmm(q, negatives.transpose(1, 2)) / temperature  # models x batch x n
    if valid is not None:
        others = others.masked_fill(~valid.unsqueeze(1), -math.inf)
    return torch.cat([positive, others], dim=2).logsumexp(2) - positive.squeeze(2)


class MoCoLearner(ProjectingLearner):
    """Query encoder and projector are trained; those of the keys and the queue are the memory."""

    def __init__(self, encoder: Layer, dim: int, options: MoCo) -> None:
        super().__init__(encoder, dim, options.projector_widths, options.normalised_layers)
        self.options = options

    def memory(self, state: State) -> State:
        """θ_k under the names of θ_q, as a copy of it, and an empty queue."""
        target = target_of(state)
        like = next(iter(target.values()))
        return {**target, **new_queue(QUEUE, self.options.queue_size, self.width, like)}

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        """Eq. 1 averaged over the batch; the keys then enter the queue."""
        q = self.project(state, views[0])  # models x batch x width
        with torch.no_grad():
            k = self.project(memory, views[1])  # models x batch x width
        negatives = memory[f"{QUEUE}.features"]  # models x queue x width
        valid = is_filled(memory, QUEUE)  # models x queue
        losses = info_nce(q, k, negatives, self.options.temperature, valid)  # models x batch
        enqueue(memory, QUEUE, k)
        return losses.mean(1)  # models

    def update(self, state: State, memory: State) -> None:
        """θ_k ← m θ_k + (1 - m) θ_q."""
        follow(memory, state, self.options.target_momentum)


@dataclass(frozen=True)
class MoCo(Objective):
    """Options of MoCo; `queue_size` is K, `target_momentum` m, `temperature` τ.
    `normalised_layers`: layers of the projector with batch normalisation, none in MoCo v2."""

    positive_samples: ClassVar[bool] = True
    negative_samples: ClassVar[bool] = True
    projector: ClassVar[bool] = True
    stop_gradient: ClassVar[bool] = True

    temperature: float = 0.2
    projector_widths: tuple[int, ...] = (512, 128)
    normalised_layers: int = 0
    queue_size: int = 4096
    target_momentum: float = 0.999

    def build(self, encoder: Layer, dim: int, n_classes: int) -> MoCoLearner:
        return MoCoLearner(encoder, dim, self)
