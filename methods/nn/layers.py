"""Layers whose weights carry a leading dimension `models`.

An input is `models x batch x ...`: every stacked model sees its own batch. A layer holds shapes and
rules of initialisation, never weights. It reads the number of models from the weights at each call,
so that one layer serves any stack (`methods.state`).
A convolution of several models is a batched matrix product over patches
(`methods.nn.convolution`), which leaves the batch innermost in memory; other layers keep that. A
single model takes the library's own convolution, channels innermost, or a product where it gains.
Evidence: `tests/methods/test_layers.py` holds values and gradients of both against `torch.nn`.
"""

import math
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ..state import State
from .convolution import (
    dense,
    kept_patches_conv2d,
    single_pixel_conv2d,
    stacked_conv2d,
    suits_kept_patches,
    without_stride,
)
from .precision import narrowed, widened

REACHED: ContextVar[dict[str, set[tuple[int, int, int] | None]] | None] = ContextVar(
    "REACHED", default=None
)
"""Where convolutions record which part of their kernels is reached, for `methods.nn.reached`."""

COUNTED: ContextVar[bool] = ContextVar("COUNTED", default=False)
"""True where operations are counted: every convolution is then an ordinary one, since a shortcut
of this processor (patches that autograd keeps) is no cost of the network."""


def glorot_uniform(shape: tuple[int, ...], fan_in: int, fan_out: int, g: torch.Generator) -> Tensor:
    """Uniform in ±sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010; Keras's default)."""
    bound = math.sqrt(6.0 / (fan_in + fan_out))
    return torch.empty(shape).uniform_(-bound, bound, generator=g)


def channels_last(x: Tensor) -> Tensor:
    """Images n x C x H x W, channels innermost in memory; a single one's strides set explicitly."""
    if x.shape[1] == 1:
        n, _, height, width = x.shape
        return x.contiguous().as_strided((n, 1, height, width), (height * width, 1, width, 1))
    return x.contiguous(memory_format=torch.channels_last)


def in_fast_layout(state: State) -> State:
    """A single model with its convolutions' weights in the layout that `channels_last` asks for.
    Otherwise every step would convert weights and gradients. Stacks are left as they are."""
    return {
        name: value.squeeze(0).contiguous(memory_format=torch.channels_last).unsqueeze(0)
        if _is_kernel(name, value) and value.shape[0] == 1
        else value
        for name, value in state.items()
    }


def alone(state: State, i: int) -> State:
    """A copy of the i-th model of a stack, in the layout of `in_fast_layout`."""
    copied = {}
    for name, value in state.items():
        own = value[i]
        laid = own.contiguous()
        if _is_kernel(name, value):
            laid = laid.contiguous(memory_format=torch.channels_last)
        copied[name] = (own.clone() if laid is own else laid).unsqueeze(0)
    return copied


def _is_kernel(name: str, value: Tensor) -> bool:
    """Whether it is the weight of convolutions, models x outputs x channels x height x width."""
    return name.endswith(".weight") and value.dim() == 5


def _only(value: Tensor | None) -> Tensor | None:
    """Without the dimension of a single model: a view, whose backward pass is one too."""
    return None if value is None else value.squeeze(0)


class Layer:
    """A layer or network without weights: `new` draws them, `__call__` reads them from a state.
    Numbers come out in the type in which they went in (`methods.nn.precision`)."""

    def new(self, generator: torch.Generator) -> State:
        """Fresh weights of one model (leading dimension 1); empty for layers without weights."""
        return {}

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        """models x batch x ... in, models x batch x ... out."""
        raise NotImplementedError


class Linear(Layer):
    """y = x W^T + b per model; x is models x batch x inputs."""

    def __init__(self, name: str, inputs: int, outputs: int, bias: bool = True) -> None:
        self.name, self.inputs, self.outputs, self.bias = name, inputs, outputs, bias

    def new(self, generator: torch.Generator) -> State:
        weight = glorot_uniform(
            (1, self.outputs, self.inputs), self.inputs, self.outputs, generator
        )
        state = {f"{self.name}.weight": weight}
        if self.bias:
            state[f"{self.name}.bias"] = torch.zeros(1, self.outputs)
        return state

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        weight, bias = narrowed(state[f"{self.name}.weight"]), None
        if self.bias:
            bias = narrowed(state[f"{self.name}.bias"])
        return dense(narrowed(x), weight, bias).to(x.dtype)


class Conv2d(Layer):
    """Two-dimensional convolution per model; x is models x batch x channels x height x width."""

    def __init__(
        self,
        name: str,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = 1,
        padding: int = 0,
        bias: bool = True,
    ) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.kernel, self.stride, self.padding, self.bias = kernel, stride, padding, bias

    def new(self, generator: torch.Generator) -> State:
        area = self.kernel**2
        shape = (1, self.outputs, self.inputs, self.kernel, self.kernel)
        weight = glorot_uniform(shape, self.inputs * area, self.outputs * area, generator)
        state = {f"{self.name}.weight": weight}
        if self.bias:
            state[f"{self.name}.bias"] = torch.zeros(1, self.outputs)
        return state

    def size(self, side: int) -> int:
        """Output side for a square input side."""
        return (side + 2 * self.padding - self.kernel) // self.stride + 1

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        weight = narrowed(state[f"{self.name}.weight"])
        bias = narrowed(state[f"{self.name}.bias"]) if self.bias else None
        return self._convolved(narrowed(x), weight, bias).to(x.dtype)

    def _convolved(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        height, width = (self.size(side) for side in x.shape[3:])
        counted = x.device.type == "meta" or COUNTED.get()
        alone = height == width == 1 and self.padding < self.kernel and not counted
        high, wide = (min(side, self.kernel - self.padding) for side in x.shape[3:])
        if (recorded := REACHED.get()) is not None:
            place = (self.padding, high, wide) if alone else None
            recorded.setdefault(f"{self.name}.weight", set()).add(place)
            return x.new_zeros(*x.shape[:2], self.outputs, height, width)
        if alone:
            return single_pixel_conv2d(x, weight, bias, self.padding, high, wide)
        if x.shape[0] == 1:
            own, of_own, bias = x.squeeze(0), weight.squeeze(0), _only(bias)
            stride, fast = self.stride, False
            if not counted:
                own, stride = without_stride(own, self.kernel, stride, self.padding)
                fast = suits_kept_patches(own, of_own, stride, height * width)
            convolve = kept_patches_conv2d if fast else F.conv2d
            return convolve(channels_last(own), of_own, bias, stride, self.padding).unsqueeze(0)
        return stacked_conv2d(x, weight, bias, self.stride, self.padding)


class BatchNorm(Layer):
    """Batch normalisation per model over all dimensions but models and channels.
    Accepts models x batch x channels (x height x width). It works and moves running statistics in
    the state as `torch.nn.BatchNorm2d` does. Where PyTorch refuses a batch with one value a
    channel, the output is the bias and the running variance stays."""

    def __init__(
        self,
        name: str,
        channels: int,
        momentum: float = 0.1,
        eps: float = 1e-5,
        affine: bool = True,
    ) -> None:
        self.name, self.channels = name, channels
        self.momentum, self.eps, self.affine = momentum, eps, affine

    def new(self, generator: torch.Generator) -> State:
        state = {
            f"{self.name}.running_mean": torch.zeros(1, self.channels),
            f"{self.name}.running_var": torch.ones(1, self.channels),
        }
        if self.affine:
            state[f"{self.name}.weight"] = torch.ones(1, self.channels)
            state[f"{self.name}.bias"] = torch.zeros(1, self.channels)
        return state

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return self._normalised(state, widened(x), training).to(x.dtype)

    def _normalised(self, state: State, x: Tensor, training: bool) -> Tensor:
        models, _, channels = x.shape[:3]
        if training and x.numel() == models * channels:
            return self._lone(state, x)
        weight = state[f"{self.name}.weight"].reshape(-1) if self.affine else None
        bias = state[f"{self.name}.bias"].reshape(-1) if self.affine else None
        mean = state[f"{self.name}.running_mean"].view(-1)
        variance = state[f"{self.name}.running_var"].view(-1)
        if models == 1:
            return F.batch_norm(
                x.squeeze(0), mean, variance, weight, bias, training, self.momentum, self.eps
            ).unsqueeze(0)
        last = x.movedim(1, -1)
        flat = last.reshape(1, models * channels, -1)
        out = F.batch_norm(flat, mean, variance, weight, bias, training, self.momentum, self.eps)
        return out.view(last.shape).movedim(-1, 1)

    def _lone(self, state: State, x: Tensor) -> Tensor:
        """One value a channel: the mean is that value, and the running variance stays."""
        lone = x.detach().reshape(x.shape[0], self.channels)
        state[f"{self.name}.running_mean"].lerp_(lone, self.momentum)
        centred = x - x
        if not self.affine:
            return centred
        shape = (x.shape[0], 1, self.channels, *(1,) * (x.dim() - 3))
        weight, bias = state[f"{self.name}.weight"], state[f"{self.name}.bias"]
        return centred * weight.reshape(shape) + bias.reshape(shape)


class ReLU(Layer):
    """max(x, 0)."""

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return F.relu(x)


class Flatten(Layer):
    """models x batch x everything else."""

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return x.flatten(2)


class GlobalAveragePool(Layer):
    """Mean over height and width: models x batch x channels."""

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return x.mean(dim=(3, 4))


class MaxPool2d(Layer):
    """Maximum over windows of `kernel` with `stride` and `padding`."""

    def __init__(self, kernel: int, stride: int, padding: int = 0) -> None:
        self.kernel, self.stride, self.padding = kernel, stride, padding

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        flat = F.max_pool2d(x.flatten(0, 1), self.kernel, self.stride, self.padding)
        return flat.reshape(*x.shape[:2], *flat.shape[1:])


class Sequential(Layer):
    """Layers one after the other; what passes between them is in the declared precision."""

    def __init__(self, *layers: Layer) -> None:
        self.layers = layers

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def new(self, generator: torch.Generator) -> State:
        state: State = {}
        for layer in self.layers:
            state.update(layer.new(generator))
        return state

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        inner = narrowed(x)
        for layer in self.layers:
            inner = layer(state, inner, training)
        return inner.to(x.dtype)


def is_buffer(name: str) -> bool:
    """Whether a tensor of a state is a running statistic rather than a trained weight."""
    return name.rsplit(".", 1)[-1].startswith("running_")


def dense_layers(name: str, inputs: int, widths: Sequence[int], normalised: int = 0) -> Sequential:
    """Dense layers of `widths`, with ReLU on all but the last; tensors begin with `name.`.
    The first `normalised` layers have batch normalisation before the ReLU, and no bias: its
    gradient, pure rounding, would be blown up to full steps by Adam."""
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
