"""Networks that objectives put on top of the encoder: projectors and predictors."""

from __future__ import annotations

from collections.abc import Sequence

from fedrepro.methods.nn.layers import BatchNorm, Layer, Linear, ReLU, Sequential


def dense_layers(name: str, inputs: int, widths: Sequence[int], normalised: int = 0) -> Sequential:
    """Dense layers of `widths`, with ReLU on all but the last; tensors begin with `name.`.

    The first `normalised` of them are batch-normalised before the ReLU. Those have no bias: batch
    normalisation would cancel it, and Adam would blow its gradient, pure rounding, up to full
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
