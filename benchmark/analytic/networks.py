"""Weights, multiply-adds and feature maps of networks, from their shapes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from ...methods.costs.model_costs import NetworkCost, network_cost, shapes_of
from ...methods.encoders.base import Encoder
from ...methods.encoders.resnet import Residual
from ...methods.nn.layers import Conv2d, Layer, MaxPool2d, Sequential
from ...methods.nn.mfcl_modules import Convolution, Pooling
from ..spec.model import Cell
from . import Analytic, encoder_of, in_unit, setting


def parameters(cell: Cell) -> Analytic:
    """Trained parameters of the encoder, no running statistics (CP-CFL, Section 4.5: 2.4 M)."""
    cost, described = _encoder_cost(cell)
    return _counted(cell, cost.parameters, described, f"trained parameters: {cost.parameters:,}")


def flops(cell: Cell) -> Analytic:
    """Flops of one forward pass of the encoder for one image, two for each multiply-add.

    CP-CFL Table E.22. Counted: convolutions and dense layers. The paper's tool, keras-flops, also
    counts an addition for each bias (and pooling and residual sums in a ResNet), at most 0.3 % in
    all. Both ways the ResNets print as in the table, and the default CNN does not: 0.16456 G, or
    0.16480 G with biases, prints as 0.16 where the table has 0.17. Its strides were inferred from
    that number, which is therefore not judged by it."""
    cost, described = _encoder_cost(cell)
    kinds = " + ".join(f"{count:,} ({kind})" for kind, count in cost.multiply_adds_by_kind.items())
    adds = f"multiply-adds: {kinds} = {cost.multiply_adds:,}"
    counted = f"flops: 2 x {cost.multiply_adds:,} = {cost.flops:,}"
    return _counted(cell, cost.flops, described, adds, counted)


def _counted(cell: Cell, count: int, *working: str) -> Analytic:
    value = in_unit(count, cell.unit)
    in_unit_of_cell = f"{working[-1]} = {value} {cell.unit or ''}".strip()
    ours = encoder_of(cell).inferred or None
    return Analytic(value, working=(*working[:-1], in_unit_of_cell), ours=ours)


def _encoder_cost(cell: Cell) -> tuple[NetworkCost, str]:
    """The cost of the cell's encoder at its image size, and a line that says what was measured."""
    encoder = encoder_of(cell)
    size, channels = setting(cell, "clients.image_size"), setting(cell, "clients.channels")
    return _cost(encoder, channels, size), f"{encoder} for {channels} x {size} x {size} images"


@cache
def _cost(encoder: Encoder, channels: int, side: int) -> NetworkCost:
    return network_cost(encoder.build(channels, side), channels, side, side)


@dataclass(frozen=True)
class Measured:
    """A network in numbers; of one image, multiply-adds and values that layers put out."""

    weights: int
    multiply_adds: int
    convolved: int


@cache
def measure(encoder: Encoder, channels: int, side: int) -> Measured:
    """An encoder for square images; no weight is drawn and nothing is computed."""
    network, cost = encoder.build(channels, side), _cost(encoder, channels, side)
    # The counter adds up what operators put out instead of their operations.
    outputs = dict.fromkeys(flop_registry, lambda *_, out_shape, **__: math.prod(out_shape))
    with FlopCounterMode(display=False, custom_mapping=outputs) as counter, torch.no_grad():
        network(shapes_of(network), torch.zeros(1, 1, channels, side, side, device="meta"))
    return Measured(cost.parameters, cost.multiply_adds, counter.get_total_flops())


@cache
def measure_layers(layers: tuple[Convolution | Pooling, ...], side: int) -> tuple[Measured, int]:
    """Plain layers for square images of `side`, and the side of what they put out."""
    weights = multiply_adds = convolved = 0
    for layer in layers:
        before, side = side, layer.size(side)
        if isinstance(layer, Convolution):
            places = before**2 if layer.transposed else side**2
            weights += layer.parameters
            multiply_adds += layer.inputs * layer.outputs * layer.kernel**2 * places
            convolved += layer.outputs * side**2
    return Measured(weights, multiply_adds, convolved), side


@cache
def first_layers(
    encoder: Encoder, channels: int, side: int, count: int
) -> tuple[Convolution | Pooling, ...]:
    """An encoder's first `count` convolutions, none of shortcuts, and the poolings among them."""
    found: list[Convolution | Pooling] = []
    for layer in _plain(encoder.build(channels, side)):
        window = layer.kernel, layer.stride, layer.padding
        if isinstance(layer, MaxPool2d):
            found.append(Pooling(*window))
        elif count == 0:
            break
        else:
            count -= 1
            found.append(Convolution(layer.inputs, layer.outputs, *window))
    return tuple(found)


def _plain(layer: Layer) -> Iterator[Conv2d | MaxPool2d]:
    if isinstance(layer, Conv2d | MaxPool2d):
        yield layer
    body = layer.body if isinstance(layer, Residual) else layer
    for one in body if isinstance(body, Sequential) else ():
        yield from _plain(one)
