"""SimCLR, and DEC's clustering of its projections beside it.

Paper: fedrlc, Eqs. 14 to 16 (C+NC), after Xie et al. 2016: soft labels by a Student-t kernel around
trained centres, drawn to their own sharpened target distribution
(`methods.objectives._soft_clusters`).
Unstated: centres begin at random here; the federated methods set them by K-means before the first
round. As many centres as classes.
Evidence: `tests/methods/test_deep_clustering.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import CENTRES
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.objectives._centres import CentredLearner, new_centres
from fedrepro.methods.objectives._soft_clusters import embedded_clustering
from fedrepro.methods.objectives.simclr import SimCLR, SimCLRLearner, nt_xent
from fedrepro.methods.state import State


class SimCLRDECLearner(SimCLRLearner, CentredLearner):
    """Encoder and projector, and centres in the projector's output."""

    def __init__(self, simclr: SimCLRLearner, n_clusters: int, width: int) -> None:
        super().__init__(simclr.encoder, simclr.projector, simclr.temperature)
        self.n_clusters, self.width = n_clusters, width

    def new(self, generator: torch.Generator) -> State:
        networks = super().new(generator)
        return {**networks, **new_centres(self.n_clusters, self.width, generator)}

    def embed(self, state: State, x: Tensor, training: bool) -> Tensor:
        return self.projector(state, self.encoder(state, x, training), training)

    def loss(
        self, state: State, memory: State, views: Sequence[Tensor], labels: Tensor | None
    ) -> Tensor:
        z_a, z_b = self.embed(state, torch.cat(list(views), dim=1), True).chunk(2, dim=1)
        clustering = embedded_clustering(z_a, z_b, state[CENTRES])
        return nt_xent(z_a, z_b, self.temperature) + clustering


@dataclass(frozen=True)
class SimCLRDEC(SimCLR):
    """Options of SimCLR."""

    def build(self, encoder: Layer, dim: int, n_classes: int) -> SimCLRDECLearner:
        simclr = super().build(encoder, dim, n_classes)
        return SimCLRDECLearner(simclr, n_classes, self.projector_widths[-1])
