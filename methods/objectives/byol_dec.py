"""BYOL, and DEC's clustering of the online predictor's output.

Paper: fedrlc, Eqs. 19 and 20 (NC+NC), after Xie et al. 2016: soft labels by a Student-t kernel
around trained centres, drawn to their own sharpened target distribution (`_soft_clusters`).
Unstated: as many centres as classes, random here; federated methods set them by K-means at first.
Evidence: `tests/methods/test_clustering_objectives.py`.
"""

from dataclasses import dataclass

from torch import Tensor

from ..clusters.soft_assignment import CENTRES
from ..nn.layers import Layer, Sequential
from ..state import State
from ._soft_clusters import CentredLearner, embedded_clustering
from .base import Views
from .byol import BYOL, BYOLLearner


class BYOLDECLearner(BYOLLearner, CentredLearner):
    """BYOL's networks, and centres in the predictor's output."""

    def __init__(self, encoder: Layer, dim: int, n_clusters: int, options: BYOL) -> None:
        super().__init__(encoder, dim, options)
        self.n_clusters, self.width = n_clusters, options.projector_widths[-1]

    def embed(self, state: State, x: Tensor, training: bool) -> Tensor:
        return Sequential(self.encoder, self.projector, self.predictor)(state, x, training)

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        p = [self.embed(state, x, True) for x in views]  # each models x batch x width
        prediction = self.prediction_loss(p, self.targets(memory, views))
        return prediction + embedded_clustering(p[0], p[1], state[CENTRES])  # models


@dataclass(frozen=True)
class BYOLDEC(BYOL):
    """Options of BYOL."""

    def build(self, encoder: Layer, dim: int, n_classes: int) -> BYOLDECLearner:
        return BYOLDECLearner(encoder, dim, n_classes, self)
