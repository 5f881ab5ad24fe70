"""SwAV: predict the cluster assignment of one view from the other.

Paper: Caron et al. 2020, Eqs. 1 to 5 and Section 3.1. Features have scores against trained
prototypes of length one. Sinkhorn's algorithm balances assignments over the batch, and over a queue
of earlier features. Prototypes are brought to length one before each step.
Deviations: two views and no smaller crops. Queues (one for each view) start empty and count as far
as they are filled, where the authors' code waits for epochs; prototypes train from the first step.
Evidence: `tests/methods/test_objectives_with_memory.py` (a plain loop over Eq. 2, lightly).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..clusters.balanced_clustering import sinkhorn
from ..nn.layers import Layer, Linear, Sequential, dense_layers
from ..state import State
from ._memory import enqueue, is_filled, last_width, new_queue, unit
from .base import Learner, Objective, Views

PROTOTYPES = "prototypes.weight"


def swapped_prediction(scores: Tensor, codes: Tensor, temperature: float) -> Tensor:
    """Eq. 2 averaged over the batch, (models,); both models x batch x prototypes."""
    return -(codes * (scores / temperature).log_softmax(2)).sum(2).mean(1)


class SwAVLearner(Learner):
    """Encoder, projector and prototypes; the memory holds a queue of features for each view."""

    def __init__(self, encoder: Layer, dim: int, options: SwAV) -> None:
        widths, normalised = options.projector_widths, options.normalised_layers
        width = last_width(widths, dim)
        self.encoder = encoder
        self.projector = dense_layers("projector", dim, widths, normalised)
        self.prototypes = Linear("prototypes", width, options.prototypes, bias=False)
        self.networks = (self.encoder, self.projector, self.prototypes)
        self.options = options

    def memory(self, state: State) -> State:
        """Two empty queues, or nothing if the queue's size is 0."""
        size, like = self.options.queue_size, state[PROTOTYPES]
        if size == 0:
            return {}
        width = self.prototypes.inputs
        return {
            k: v for i in range(2) for k, v in new_queue(f"queue{i}", size, width, like).items()
        }

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        """Eq. 1, both directions averaged; the features then enter the queues."""
        with torch.no_grad():
            state[PROTOTYPES].copy_(unit(state[PROTOTYPES]))
        project = Sequential(self.encoder, self.projector)
        z = [unit(project(state, x, training=True)) for x in views]  # each models x batch x width
        scores = [self.prototypes(state, each) for each in z]  # each models x batch x prototypes
        codes = [self._codes(state, memory, i, scores[i]) for i in range(2)]  # as the scores
        for i in range(2):
            if f"queue{i}.features" in memory:
                enqueue(memory, f"queue{i}", z[i])
        temperature = self.options.temperature
        return (
            swapped_prediction(scores[0], codes[1], temperature)
            + swapped_prediction(scores[1], codes[0], temperature)
        ) / 2

    @torch.no_grad()
    def _codes(self, state: State, memory: State, view: int, scores: Tensor) -> Tensor:
        batch, queue, valid = scores.shape[1], f"queue{view}", None
        if f"{queue}.features" in memory:
            old = self.prototypes(state, memory[f"{queue}.features"])  # models x queue x prototypes
            valid = torch.cat(
                [scores.new_ones(scores.shape[:2]).bool(), is_filled(memory, queue)], 1
            )
            scores = torch.cat([scores, old], dim=1)
        epsilon, iterations = self.options.sinkhorn_epsilon, self.options.sinkhorn_iterations
        return sinkhorn(scores, epsilon, iterations, valid)[:, :batch]


@dataclass(frozen=True)
class SwAV(Objective):
    """prototypes: how many. `normalised_layers`: layers of the projector with batch normalisation.
    `queue_size`: features of earlier batches in the balance, 0 for none."""

    positive_samples: ClassVar[bool] = True
    weight_sharing: ClassVar[bool] = True
    projector: ClassVar[bool] = True
    stop_gradient: ClassVar[bool] = True

    temperature: float = 0.1
    projector_widths: tuple[int, ...] = (512, 128)
    normalised_layers: int = 1
    prototypes: int = 100
    sinkhorn_epsilon: float = 0.05
    sinkhorn_iterations: int = 3
    queue_size: int = 0

    def build(self, encoder: Layer, dim: int, n_classes: int) -> SwAVLearner:
        return SwAVLearner(encoder, dim, self)
