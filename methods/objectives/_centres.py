"""Cluster centres that are trained with the networks, in a space that the learner names."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import CENTRES
from fedrepro.methods.objectives.base import Learner
from fedrepro.methods.state import State


class CentredLearner(Learner):
    """A learner with centres (`methods.clusters.soft_assignment`) beside its networks."""

    n_clusters: int

    @abstractmethod
    def embed(self, state: State, x: Tensor, training: bool) -> Tensor:
        """Where images lie among the centres, models x batch x width; x: float in [0, 1]."""


def new_centres(n_clusters: int, width: int, generator: torch.Generator) -> State:
    """Standard normal centres of one model; drawn after the networks, which they leave alike."""
    return {CENTRES: torch.randn(1, n_clusters, width, generator=generator)}
