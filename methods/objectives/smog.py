"""SMoG: name the group to which the other view belongs, among groups that move with every batch.

Paper: Pang et al. 2022, "Unsupervised visual representation learning by synchronous momentum
grouping", Section 3. An image belongs to the nearest group. In every step each group moves:
g ← β g + (1 - β) mean of its new members. Images are compared with the moved groups, so gradients
reach these through the members. The loss is the cross-entropy over similarities divided by a
temperature. The grouped view comes from a slowly moving copy of the network; the other one passes a
predictor. Both heads have two layers with batch normalisation after the first, the projector after
the last one too.
Deviations: groups begin at random and are never reset by K-means, as the authors do every 300
steps: a client of Calibre makes about 120 steps in 200 rounds. The first view is always the
predicted one (views are drawn alike, so their order carries nothing). The copy's momentum is
constant. The last normalisation of the projector learns scale and shift.
Unstated where clients train it: what becomes of the groups. They are treated like running
statistics: they travel with the weights and are averaged with them.
Evidence: `tests/methods/test_objectives_with_memory.py` against plain loops and lightly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..clusters.kmeans import group_means
from ..nn.layers import Layer, Sequential, dense_layers
from ..state import State
from ._memory import follow, target_of
from .base import Learner, Objective, Views

GROUPS = "groups.running_features"
"""Named as a running statistic, so that no optimiser touches it."""


def similarities(x: Tensor, groups: Tensor) -> Tensor:
    """Cosines, models x batch x groups; `x`: models x batch x width, groups: models x n x width."""
    return torch.bmm(F.normalize(x, dim=2), F.normalize(groups, dim=2).transpose(1, 2))


def moved(groups: Tensor, x: Tensor, momentum: float) -> Tensor:
    """The groups after a step with features `x` (models x batch x width), which get gradients."""
    nearest = similarities(x, groups).detach().argmax(dim=2)  # models x batch
    means, sizes = group_means(x, nearest, groups.shape[1])  # models x n x width, models x n
    return torch.where((sizes > 0).unsqueeze(2), momentum * groups + (1 - momentum) * means, groups)


class SMoGLearner(Learner):
    """Encoder, projector, predictor and groups; the copy is the memory."""

    def __init__(self, encoder: Layer, dim: int, options: SMoG) -> None:
        widths = options.projector_widths
        inner = (options.predictor_width, widths[-1])
        self.encoder = encoder
        self.projector = dense_layers("projector", dim, widths, normalised=len(widths))
        self.predictor = dense_layers("predictor", widths[-1], inner, normalised=1)
        self.networks = (self.encoder, self.projector, self.predictor)
        self.width, self.options = widths[-1], options

    def new(self, generator: torch.Generator) -> State:
        networks = super().new(generator)
        drawn = torch.randn(1, self.options.n_groups, self.width, generator=generator)
        return {**networks, GROUPS: F.normalize(drawn, dim=2)}

    def memory(self, state: State) -> State:
        return target_of(state)

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        """Cross-entropy of the first view against the group of the second; the groups move."""
        project = Sequential(self.encoder, self.projector)
        z = project(state, views[0], training=True)  # models x batch x width
        with torch.no_grad():
            target = project(memory, views[1], training=True)  # models x batch x width
            named = similarities(target, state[GROUPS]).argmax(dim=2)  # models x batch
        groups = moved(state[GROUPS], z, self.options.group_momentum)  # models x groups x width
        p = self.predictor(state, z, training=True)  # models x batch x width
        logits = similarities(p, groups) / self.options.temperature  # models x batch x groups
        state[GROUPS] = groups.detach()
        return F.cross_entropy(logits.transpose(1, 2), named, reduction="none").mean(1)

    def update(self, state: State, memory: State) -> None:
        follow(memory, state, self.options.target_momentum)


@dataclass(frozen=True)
class SMoG(Objective):
    """Options of SMoG; `group_momentum` is β. The predictor's output is as wide as the groups."""

    positive_samples: ClassVar[bool] = True
    projector: ClassVar[bool] = True
    predictor: ClassVar[bool] = True
    stop_gradient: ClassVar[bool] = True

    temperature: float = 0.1
    projector_widths: tuple[int, ...] = (1024, 128)
    predictor_width: int = 1024
    n_groups: int = 300
    group_momentum: float = 0.99
    target_momentum: float = 0.996

    def build(self, encoder: Layer, dim: int, n_classes: int) -> SMoGLearner:
        return SMoGLearner(encoder, dim, self)
