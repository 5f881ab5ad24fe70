"""Layers whose weights carry a leading dimension `models`.

An input is `models x batch x ...`: every stacked model sees its own batch. The number of models is
read from the weights at each call, so one module serves any stack (`methods.state`); the modules
hold the shapes and the rules of initialisation, never the weights themselves.

A convolution is an explicit unfold and one batched matrix product, which on a CPU beats grouped
convolution at every shape that the papers use; a single model falls back to the library's own
convolution. Evidence: `tests/methods/test_layers.py` holds both against `torch.nn`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from methods.state import State

Initialiser = Callable[[tuple[int, ...], int, int, torch.Generator], Tensor]


def glorot_uniform(shape: tuple[int, ...], fan_in: int, fan_out: int, g: torch.Generator) -> Tensor:
    """Uniform in ±sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010; Keras's default)."""
    bound = math.sqrt(6.0 / (fan_in + fan_out))
    return torch.empty(shape).uniform_(-bound, bound, generator=g)


class Layer:
    """A layer without weights: `new` draws them, `__call__` reads them from a state.

    `name` is the prefix of the layer's tensors in a state.
    """

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
        weight = state[f"{self.name}.weight"].transpose(1, 2)
        if not self.bias:
            return torch.bmm(x, weight)
        return torch.baddbmm(state[f"{self.name}.bias"].unsqueeze(1), x, weight)


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
        weight = state[f"{self.name}.weight"]
        bias = state[f"{self.name}.bias"] if self.bias else None
        models, batch = x.shape[:2]
        if models == 1:
            out = F.conv2d(
                x[0], weight[0], None if bias is None else bias[0], self.stride, self.padding
            )
            return out.unsqueeze(0)
        height, width = self.size(x.shape[3]), self.size(x.shape[4])
        patches = self._patches(x, height, width)
        kernels = weight.reshape(models, self.outputs, -1)
        flat = (
            torch.bmm(kernels, patches)
            if bias is None
            else torch.baddbmm(bias.unsqueeze(2), kernels, patches)
        )
        return flat.reshape(models, self.outputs, batch, height, width).transpose(1, 2)

    def _patches(self, x: Tensor, height: int, width: int) -> Tensor:
        """models x (channels * kernel * kernel) x (batch * height * width)."""
        models, batch, channels = x.shape[:3]
        if self.kernel == 1 and self.padding == 0:
            x = x[..., :: self.stride, :: self.stride]
            return x.transpose(1, 2).reshape(models, channels, -1)
        columns = F.unfold(
            x.reshape(models * batch, *x.shape[2:]),
            self.kernel,
            padding=self.padding,
            stride=self.stride,
        )
        columns = columns.reshape(models, batch, -1, height * width)
        return columns.transpose(1, 2).reshape(models, -1, batch * height * width)


class BatchNorm(Layer):
    """Batch normalisation per model over all dimensions but models and channels.

    Accepts models x batch x channels (x height x width). In training it uses the batch's mean and
    biased variance and moves the running ones (unbiased variance) by `momentum`, in place in the
    state, as `torch.nn.BatchNorm2d` does; otherwise it uses the running ones.
    """

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
        spread = (1,) * (x.dim() - 3)
        if training:
            over = [1, *range(3, x.dim())]
            variance, mean = torch.var_mean(x, dim=over, correction=0)
            self._track(state, mean.detach(), variance.detach(), x.numel() // mean.numel())
        else:
            mean = state[f"{self.name}.running_mean"]
            variance = state[f"{self.name}.running_var"]
        scale = torch.rsqrt(variance + self.eps)
        if self.affine:
            scale = scale * state[f"{self.name}.weight"]
        shift = -mean * scale
        if self.affine:
            shift = shift + state[f"{self.name}.bias"]
        shape = (scale.shape[0], 1, self.channels, *spread)
        return x * scale.reshape(shape) + shift.reshape(shape)

    def _track(self, state: State, mean: Tensor, variance: Tensor, count: int) -> None:
        unbiased = variance * (count / max(count - 1, 1))
        state[f"{self.name}.running_mean"].lerp_(mean, self.momentum)
        state[f"{self.name}.running_var"].lerp_(unbiased, self.momentum)


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
    """Layers one after the other."""

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
        for layer in self.layers:
            x = layer(state, x, training)
        return x


def is_buffer(name: str) -> bool:
    """Whether a tensor of a state is a running statistic rather than a trained weight."""
    return name.rsplit(".", 1)[-1].startswith("running_")
