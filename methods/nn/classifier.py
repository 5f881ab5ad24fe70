"""A classification model: an encoder and a head of dense layers."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..state import State
from .layers import Layer, Sequential, dense_layers

ENCODER, HEAD = "encoder", "head"


def dense_head(inputs: int, widths: Sequence[int], outputs: int, name: str = HEAD) -> Sequential:
    """Dense layers of `widths` with ReLU, then a dense layer of `outputs` logits.
    CP-CFL's heads θ_c, θ_c-1, θ_c-2, θ_c-3 have 0, 1, 2, 3 hidden layers (Section 4.4)."""
    return dense_layers(name, inputs, (*widths, outputs))


class Classifier(Layer):
    """Encoder θ_f and head θ_c joined; their tensors begin with `encoder.` and `head.`."""

    def __init__(self, encoder: Layer, dim: int, head: Sequential) -> None:
        self.encoder, self.dim, self.head = encoder, dim, head

    def new(self, generator: torch.Generator) -> State:
        return {**self.encoder.new(generator), **self.head.new(generator)}

    def features(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        """Representations, models x batch x dim, of float images in [0, 1]."""
        return self.encoder(state, x, training)

    def logits(self, state: State, h: Tensor, training: bool = False) -> Tensor:
        """models x batch x classes from representations."""
        return self.head(state, h, training)

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        """Logits, models x batch x classes, of float images in [0, 1]."""
        return self.logits(state, self.features(state, x, training), training)
