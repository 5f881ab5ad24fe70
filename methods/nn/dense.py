"""Networks of dense layers: projectors, predictors, cluster heads, classifiers."""

from __future__ import annotations

from collections.abc import Sequence

from fedrepro.methods.nn.layers import BatchNorm, Layer, Linear, ReLU, Sequential
from fedrepro.methods.state import State


def dense_layers(name: str, inputs: int, widths: Sequence[int], normalised: int = 0) -> Sequential:
    """Dense layers of `widths`, with ReLU on all but the last; tensors begin with `name.`.

    The first `normalised` layers have batch normalisation before the ReLU and no bias: batch
    normalisation would cancel a bias, and Adam would blow its gradient, pure rounding, up to full
    steps.
    """
    layers: list[Layer] = []
    for i, width in enumerate(widths):
        layers.append(Linear(f"{name}.{i}", inputs, width, bias=i >= normalised))
        if i < normalised:
            layers.append(BatchNorm(f"{name}.norm{i}", width))
        if i < len(widths) - 1:
            layers.append(ReLU())
        inputs = width
    return Sequential(*layers)


def dense_layers_of(name: str, weights: State) -> Sequential:
    """The network that `dense_layers` made, read off its weights."""
    layers: list[Layer] = []
    i = 0
    while (weight := weights.get(f"{name}.{i}.weight")) is not None:
        if i > 0:
            layers.append(ReLU())
        outputs, inputs = weight.shape[1:]
        layers.append(Linear(f"{name}.{i}", inputs, outputs, bias=f"{name}.{i}.bias" in weights))
        if f"{name}.norm{i}.weight" in weights:
            layers.append(BatchNorm(f"{name}.norm{i}", outputs))
        i += 1
    return Sequential(*layers)
