"""Weights, multiply-adds and feature maps of networks, from shapes alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ...methods.costs.model_costs import NetworkCost, network_cost
from ...methods.encoders.base import Encoder
from ...methods.encoders.resnet import Residual
from ...methods.nn.layers import Conv2d, Layer, MaxPool2d, Sequential
from ...methods.nn.mfcl_modules import Convolution, Pooling
from ..spec.model import Cell
from .base import encoder_of, setting

_KINDS = ("convolution", "batch_norm", "relu", "pool", "mean", "mm", "add")


def encoder_cost(cell: Cell) -> tuple[NetworkCost, str]:
    """The cost of the cell's encoder at its image size, and a line that says what was measured.

    Raises `SpecError` if the experiment lacks a setting.
    """
    encoder = encoder_of(cell)
    size, channels = setting(cell, "clients.image_size"), setting(cell, "clients.channels")
    return _cost(encoder, channels, size), f"{encoder} for {channels} x {size} x {size} images"


@cache
def _cost(encoder: Encoder, channels: int, side: int) -> NetworkCost:
    return network_cost(encoder.build(channels, side), channels, side, side)


@dataclass(frozen=True)
class Measured:
    """A network in numbers. All but the weights are for the forward pass of one image.

    convolved: values that its convolutions and dense layers put out. mapped: values that all its
    layers put out, normalisations, activations, sums and poolings included.
    """

    weights: int
    multiply_adds: int
    convolved: int
    mapped: int

    def __add__(self, other: Measured) -> Measured:
        return Measured(
            self.weights + other.weights,
            self.multiply_adds + other.multiply_adds,
            self.convolved + other.convolved,
            self.mapped + other.mapped,
        )


@cache
def measure(encoder: Encoder, channels: int, side: int) -> Measured:
    """An encoder for square images; no weight is drawn and nothing is computed."""
    network, cost = encoder.build(channels, side), _cost(encoder, channels, side)
    with torch.device("meta"):
        state = network.new(torch.Generator())
        with _Outputs() as outputs, torch.no_grad():
            network(state, torch.zeros(1, 1, channels, side, side))
    values = outputs.values
    convolved = values["convolution"] + values["mm"]
    return Measured(cost.parameters, cost.multiply_adds, convolved, sum(values.values()))


class _Outputs(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the values that operators put out, by kind."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.values = dict.fromkeys(_KINDS, 0)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        first = out[0] if isinstance(out, tuple | list) else out
        kind = next((kind for kind in _KINDS if kind in str(func)), None)
        if kind is not None and isinstance(first, Tensor):
            self.values[kind] += first.numel()
        return out


@cache
def measure_layers(layers: tuple[Convolution | Pooling, ...], side: int) -> tuple[Measured, int]:
    """Plain layers for square images of `side`, and the side of what they put out."""
    total, channels = Measured(0, 0, 0, 0), 0
    for layer in layers:
        before, side = side, layer.size(side)
        if isinstance(layer, Pooling):
            total += Measured(0, 0, 0, channels * side**2)
            continue
        channels = layer.outputs
        places = before**2 if layer.transposed else side**2
        values = channels * side**2
        total += Measured(
            layer.parameters,
            layer.inputs * layer.outputs * layer.kernel**2 * places,
            values,
            values * (3 if layer.normalised else 1),
        )
    return total, side


@cache
def first_layers(
    encoder: Encoder, channels: int, side: int, count: int
) -> tuple[Convolution | Pooling, ...]:
    """The first `count` convolutions of an encoder and the poolings between and behind them.

    Projections on shortcuts are left out.
    """
    found: list[Convolution | Pooling] = []
    for layer in _plain(encoder.build(channels, side)):
        if isinstance(layer, MaxPool2d):
            found.append(Pooling(layer.kernel, layer.stride, layer.padding))
        elif count == 0:
            break
        else:
            count -= 1
            found.append(
                Convolution(layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.padding)
            )
    return tuple(found)


def _plain(layer: Layer) -> list[Conv2d | MaxPool2d]:
    if isinstance(layer, Conv2d | MaxPool2d):
        return [layer]
    inner = layer if isinstance(layer, Sequential) else ()
    if isinstance(layer, Residual):
        inner = layer.body
    return [plain for one in inner for plain in _plain(one)]
