"""Cluster centres that are trained with the networks."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import CENTRES
from fedrepro.methods.objectives.base import Learner
from fedrepro.methods.state import State


class CentredLearner(Learner):
    """A learner that trains centres (`methods.clusters.soft_assignment`) with its networks."""

    n_clusters: int
    width: int

    def new(self, generator: torch.Generator) -> State:
        """Networks, then standard normal centres, so that centres change no network."""
        networks = super().new(generator)
        centres = torch.randn(1, self.n_clusters, self.width, generator=generator)
        return {**networks, CENTRES: centres}

    @abstractmethod
    def embed(self, state: State, x: Tensor, training: bool) -> Tensor:
        """What the centres cluster, models x batch x width, of float images x in [0, 1]."""
