"""CP-CFL's default encoder: four 3x3 convolutions and a dense layer, all with ReLU.

Paper: CP-CFL, Section 4.1 (64, 128, 192, 256 filters; 96x96x3 in, 256 out).
Unstated: stride and padding. Stride 2 without padding is the only uniform rule that gives both the
published 2.4 M parameters (2,378,304) and 0.17 G flops (82.28 M multiply-adds).
Evidence: `tests/methods/test_encoders.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import NonNegativeInt, PositiveInt

from ..nn.layers import Conv2d, Flatten, Layer, Linear, ReLU, Sequential
from .base import Encoder


@dataclass(frozen=True)
class CNN(Encoder):
    """Plain convolutional encoder; `padding` is applied on every side of every convolution."""

    inferred: ClassVar[str] = "strides and padding that were inferred from this paper's own numbers"

    widths: tuple[PositiveInt, ...] = (64, 128, 192, 256)
    dim: PositiveInt = 256
    stride: PositiveInt = 2
    padding: NonNegativeInt = 0

    @property
    def out_dim(self) -> int:
        return self.dim

    def narrowed(self, share: float) -> CNN:
        widths = tuple(max(1, round(width * share)) for width in self.widths)
        return replace(self, widths=widths, dim=max(1, round(self.dim * share)))

    def build(self, channels: int, image_size: int) -> Layer:
        layers: list[Layer] = []
        side = image_size  # models x batch x channels x side x side
        for i, width in enumerate(self.widths):
            conv = Conv2d(f"encoder.conv{i}", channels, width, 3, self.stride, self.padding)
            side = conv.size(side)
            if side < 1:
                raise ValueError(
                    f"images of {image_size}x{image_size} are too small for {len(self.widths)} "
                    f"convolutions of stride {self.stride} and padding {self.padding}"
                )
            layers += [conv, ReLU()]
            channels = width
        dense = Linear("encoder.dense", channels * side * side, self.dim)  # models x batch x dim
        return Sequential(*layers, Flatten(), dense, ReLU())
