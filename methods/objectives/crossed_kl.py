"""FedRLC's local loss: BYOL, and a crossed divergence of soft labels between its two networks.

Paper: fedrlc, Section V-B, Eqs. 23 to 25. Online soft labels of one view are drawn to the target
distribution of the other view's in the target network, over images whose two hard labels agree
(`methods.objectives._soft_clusters.crossed_divergence`).
Interpretation: online representations are the predictor's output and target ones the target
projector's, as in Section III-A, so that both are in the space in which the centres are trained.
Unstated: centres begin at random here; `methods.federated.self_supervised.fedrlc` sets them by
K-means before the first round. As many centres as classes.
Evidence: `tests/methods/test_clustering_objectives.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..clusters.soft_assignment import CENTRES, student_t
from ..nn.layers import Layer
from ..state import State
from ._soft_clusters import crossed_divergence
from .base import Views
from .byol import BYOL, BYOLLearner
from .byol_dec import BYOLDECLearner


class CrossedKLLearner(BYOLDECLearner):
    """BYOL's networks, and centres in the predictor's output."""

    def __init__(self, encoder: Layer, dim: int, n_clusters: int, options: CrossedKL) -> None:
        super().__init__(encoder, dim, n_clusters, options)
        self.select = options.data_selection

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        p = [self.embed(state, x, True) for x in views]  # each models x batch x width
        z = self.targets(memory, views)  # each models x batch x width
        q_a, q_b = (student_t(own, state[CENTRES]) for own in p)  # models x batch x clusters
        target_a, target_b = (student_t(own, state[CENTRES].detach()) for own in z)
        crossed = crossed_divergence(q_a, q_b, target_a, target_b, self.select)
        return self.prediction_loss(p, z) + crossed  # models


@dataclass(frozen=True)
class CrossedKL(BYOL):
    """Options of BYOL. `data_selection`: only images whose hard labels agree enter the divergence.
    `clustering_loss`: whether there is a divergence at all, and centres; otherwise this is BYOL."""

    data_selection: bool = True
    clustering_loss: bool = True

    def build(self, encoder: Layer, dim: int, n_classes: int) -> BYOLLearner:
        if not self.clustering_loss:
            return BYOLLearner(encoder, dim, self)
        return CrossedKLLearner(encoder, dim, n_classes, self)
