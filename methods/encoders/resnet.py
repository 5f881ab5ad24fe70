"""Residual networks: ResNet-18 and ResNet-50 of CP-CFL, and smaller and larger ones.

Paper: He et al. 2016, "Deep residual learning for image recognition"; CP-CFL Section 4.10 and
Appendices C to E use depths 18 (512 out) and 50 (2048 out).
Unstated in CP-CFL: stem, block variant, batch normalisation. Table E.22's 1.42 G flops are those of
the first block version: stride on the first 1x1 convolution, as Keras builds it. Torchvision's has
the stride on the 3x3 one and takes 1.50 G. Convolutions have no bias, since a batch normalisation
follows each. `norm_momentum` is PyTorch's 0.1. Keras's would be 0.01 in that sense, too slow for
the few steps that a client makes in a round.
Tensor names are torchvision's behind `encoder.`, so that its weights can be copied over.
Evidence: `tests/methods/test_encoders.py` (torchvision), `tests/methods/test_costs.py` (E.22).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor

from ..nn.layers import Conv2d, GlobalAveragePool, Layer, MaxPool2d, ReLU, Sequential
from ..state import State
from ._client_layers import ClientLayers

_BLOCKS = {
    10: (1, 1, 1, 1),
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}
_EXPANSION = 4


class Residual(Layer):
    """ReLU(body(x) + shortcut(x)); the shortcut is the identity where there is none."""

    def __init__(self, body: Sequential, shortcut: Sequential | None) -> None:
        self.body, self.shortcut = body, shortcut

    def new(self, generator: torch.Generator) -> State:
        state = self.body.new(generator)
        if self.shortcut is not None:
            state.update(self.shortcut.new(generator))
        return state

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        skipped = x if self.shortcut is None else self.shortcut(state, x, training)
        return F.relu(self.body(state, x, training) + skipped)


@dataclass(frozen=True)
class ResNet(ClientLayers):
    """Residual encoder for images of any size.

    `depth`: 10, 18, 34 (two 3x3 convolutions a block), 50, 101, 152 (bottlenecks). `version`: where
    a bottleneck has its stride, `v1` on the first 1x1, `v1.5` on the 3x3. `stem`: `imagenet` (7x7
    of stride 2, then a maximum over 3x3 of stride 2) or `cifar` (3x3). `width`: channels of the
    first stage; each later stage doubles them. `blocks`: per stage, in place of the depth's own."""

    depth: Literal[10, 18, 34, 50, 101, 152] = 18
    version: Literal["v1", "v1.5"] = "v1"
    stem: Literal["imagenet", "cifar"] = "imagenet"
    width: PositiveInt = 64
    blocks: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] | None = None

    @property
    def _stages(self) -> tuple[int, ...]:
        return _BLOCKS[self.depth] if self.blocks is None else tuple(self.blocks)

    @property
    def _expansion(self) -> int:
        return _EXPANSION if self.depth >= 50 else 1

    @property
    def network_dim(self) -> int:
        return (self.width << (len(self._stages) - 1)) * self._expansion

    def narrowed(self, share: float) -> ResNet:
        return replace(self, width=max(1, round(self.width * share)))

    def build(self, channels: int, image_size: int) -> Layer:
        if self.modular:
            return self._modular(channels, self.width, self._blocks)
        return Sequential(*self._build_stem(channels), *self._blocks(self.width))

    def _blocks(self, inputs: int) -> list[Layer]:
        skipped = self.client_layers if self.modular else 0
        layers: list[Layer] = []
        index = 1
        for stage, count in enumerate(self._stages):
            inner = self.width * 2**stage
            for i in range(count):
                stride = 2 if stage > 0 and i == 0 else 1
                convolutions = 2 if self._expansion == 1 else 3
                gone = min(max(skipped - index, 0), convolutions)
                if gone < convolutions:
                    name = f"encoder.layer{stage + 1}.{i}"
                    layers.append(self._block(name, inputs, inner, stride, index, gone))
                    inputs = inner * self._expansion
                index += convolutions
        return [*layers, GlobalAveragePool()]

    def _build_stem(self, channels: int) -> list[Layer]:
        kernel, stride = (7, 2) if self.stem == "imagenet" else (3, 1)
        stem = self._conv("encoder", 1, channels, self.width, kernel, stride, 0)
        pool: list[Layer] = [MaxPool2d(3, 2, 1)] if self.stem == "imagenet" else []
        return [*stem, ReLU(), *pool]

    def _conv(
        self,
        name: str,
        number: int,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int,
        index: int,
    ) -> list[Layer]:
        return [
            Conv2d(
                f"{name}.conv{number}", inputs, outputs, kernel, stride, kernel // 2, bias=False
            ),
            self._normalised(index, f"{name}.bn{number}", outputs),
        ]

    def _block(
        self, name: str, inputs: int, inner: int, stride: int, index: int, gone: int
    ) -> Layer:
        """A block from convolution `index` on; a plain chain without its first `gone` ones."""
        outputs = inner * self._expansion
        if self._expansion == 1:
            shapes = [(inner, 3, stride), (outputs, 3, 1)]
        else:
            early, late = (stride, 1) if self.version == "v1" else (1, stride)
            shapes = [(inner, 1, early), (inner, 3, late), (outputs, 1, 1)]
        body: list[Layer] = []
        channels = inputs
        for number, (width, kernel, step) in list(enumerate(shapes))[gone:]:
            at = index + number
            body += [ReLU()] if body else []
            body += self._conv(name, number + 1, channels, width, kernel, step, at)
            channels = width
        if gone:
            return Sequential(*body, ReLU())
        if stride == 1 and inputs == outputs:
            return Residual(Sequential(*body), None)
        shortcut = Sequential(
            Conv2d(f"{name}.downsample.0", inputs, outputs, 1, stride, bias=False),
            self._normalised(-1, f"{name}.downsample.1", outputs),
        )
        return Residual(Sequential(*body), shortcut)
