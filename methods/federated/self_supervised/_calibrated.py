"""Any self-supervised objective with Calibre's regularisers added to its loss.

The objective is built around an encoder that remembers what it gave, so that encodings are shared
and not computed twice. Every objective encodes its first view before its second; whether one call
takes both, and whether the second goes through a slowly moving copy (MoCo, SMoG), does not matter:
the first 2N encodings are those of the two views. Such a copy's encodings carry no gradient.
Evidence: `tests/methods/test_calibre.py` (for every objective: which encodings are remembered).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from fedrepro.methods.nn.classifier import Classifier
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.objectives._prototypes import clusters, prototype_contrast, prototype_meta
from fedrepro.methods.objectives.base import Learner, Objective
from fedrepro.methods.state import State


@dataclass(frozen=True)
class Regularizers:
    """meta: L_n. contrast: L_p. weight: α. n_prototypes: K. temperature: τ of both."""

    meta: bool
    contrast: bool
    weight: float
    n_prototypes: int
    temperature: float


class Remembering(Layer):
    """A layer that keeps its outputs until they are asked for."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self._outputs: list[Tensor] = []

    def new(self, generator: torch.Generator) -> State:
        return self.layer.new(generator)

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        out = self.layer(state, x, training)
        self._outputs.append(out)
        return out

    def recall(self, rows: int) -> Tensor:
        """The first `rows` rows that were given since the last time, models x rows x dim."""
        remembered = torch.cat(self._outputs, dim=1)[:, :rows]
        self._outputs.clear()
        return remembered


class Calibrated(Learner):
    """l_s + α (l_p + l_n) (Algorithm 1, last line; its l_c is never defined and left out)."""

    def __init__(self, learner: Any, encoder: Remembering, options: Regularizers) -> None:
        self.learner, self.encoder, self.options = learner, encoder, options

    def new(self, generator: torch.Generator) -> State:
        state: State = self.learner.new(generator)
        return state

    def memory(self, state: State) -> State:
        memory: State = self.learner.memory(state)
        return memory

    def loss(
        self, state: State, memory: State, views: Sequence[Tensor], labels: Tensor | None
    ) -> Tensor:
        options, batch = self.options, views[0].shape[1]
        loss: Tensor = self.learner.loss(state, memory, views, labels)
        z_a, z_b = self.encoder.recall(2 * batch).chunk(2, dim=1)
        if not (options.meta or options.contrast):
            return loss
        of_a, of_b, k = clusters(z_a, z_b, options.n_prototypes)
        if options.meta:
            l_n = prototype_meta(z_a, z_b, of_a, of_b, k, options.temperature)
            loss = loss + options.weight * l_n
        if options.contrast:
            h_a, h_b = (self.learner.projector(state, z, training=True) for z in (z_a, z_b))
            l_p = prototype_contrast(h_a, h_b, of_a, of_b, k, options.temperature)
            loss = loss + options.weight * l_p
        return loss

    def update(self, state: State, memory: State) -> None:
        self.learner.update(state, memory)


@lru_cache(maxsize=8)
def calibrated(
    objective: Objective, model: Classifier, n_classes: int, options: Regularizers
) -> Calibrated:
    """One learner for all rounds."""
    encoder = Remembering(model.encoder)
    return Calibrated(objective.build(encoder, model.dim, n_classes), encoder, options)
