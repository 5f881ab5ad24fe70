"""Encoder and projector of objectives that compare features of length one (MoCo, DeepCluster)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ..nn.layers import Layer, dense_layers
from ..state import State
from ._memory import last_width, unit
from .base import Learner


class ProjectingLearner(Learner):
    """Encoder and projector; `width` is that of the features."""

    def __init__(self, encoder: Layer, dim: int, widths: Sequence[int], normalised: int) -> None:
        self.encoder = encoder
        self.projector = dense_layers("projector", dim, widths, normalised)
        self.networks = (self.encoder, self.projector)
        self.width = last_width(tuple(widths), dim)

    def project(self, state: State, x: Tensor, training: bool = True) -> Tensor:
        """Features of length one, models x batch x width, by the weights in `state`."""
        h = self.encoder(state, x, training)  # models x batch x dim
        return unit(self.projector(state, h, training))  # models x batch x width
