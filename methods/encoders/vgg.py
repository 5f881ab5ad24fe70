"""VGG with batch normalisation: MFCL's second backbone, VGG-16.

Paper: Simonyan and Zisserman 2015, "Very deep convolutional networks for large-scale image
recognition"; MFCL Appendix B.2.3 (VGG-16 with batch normalisation, "138 million parameters").
Deviations: without the ImageNet classifier the representation is the mean over places, as images of
32 x 32 leave one place. Images of side 1 are no longer pooled. The classifier has no dropout.
Unstated in MFCL: the dense layers for 32 x 32 images. 138 million weights are those of the ImageNet
network (138,365,992), of which the convolutions hold 14.7 million.
Tensor names are torchvision's behind `encoder.`, so that its weights can be copied over.
Evidence: `tests/methods/test_encoders.py` compares outputs, names and shapes with torchvision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch.nn.functional as F
from pydantic import PositiveInt
from torch import Tensor

from ..nn.layers import (
    Conv2d,
    Flatten,
    GlobalAveragePool,
    Layer,
    Linear,
    MaxPool2d,
    ReLU,
    Sequential,
)
from ..state import State
from ._client_layers import ClientLayers

_CONVOLUTIONS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_MULTIPLES = (1, 2, 4, 8, 8)
_SIDE = 7
_HIDDEN, _CLASSES = 4096, 1000


class _PoolTo(Layer):
    """Means over a grid of `side` x `side` windows, which overlap or repeat where they must."""

    def __init__(self, side: int) -> None:
        self.side = side

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        flat = F.adaptive_avg_pool2d(x.flatten(0, 1), self.side)
        return flat.reshape(*x.shape[:2], *flat.shape[1:])


@dataclass(frozen=True)
class VGG(ClientLayers):
    """Five stages of 3x3 convolutions, each with batch normalisation and ReLU, then pooling.
    `depth`: 11, 13, 16 or 19 layers with weights, three dense ones included. `width`: channels of
    the first stage; the others have 2, 4, 8 and 8 times as many. `classifier`: `none` (mean over
    places, 8 width out) or `imagenet` (means over 7x7 windows, two dense layers of 4096, 1000
    out)."""

    depth: Literal[11, 13, 16, 19] = 16
    width: PositiveInt = 64
    classifier: Literal["none", "imagenet"] = "none"

    @property
    def network_dim(self) -> int:
        return self._channels if self.classifier == "none" else _CLASSES

    @property
    def _channels(self) -> int:
        return self.width * _MULTIPLES[-1]

    def narrowed(self, share: float) -> VGG:
        return replace(self, width=max(1, round(self.width * share)))

    def build(self, channels: int, image_size: int) -> Layer:
        if not self.modular:
            return Sequential(*self._features(channels, image_size, 0), *self._top())
        skipped, side = self.client_layers, image_size // 2
        return self._modular(
            channels, self.width, lambda own: [*self._features(own, side, skipped), *self._top()]
        )

    def _features(self, channels: int, side: int, skipped: int) -> list[Layer]:
        layers: list[Layer] = []
        number = index = 0
        for count, multiple in zip(_CONVOLUTIONS[self.depth], _MULTIPLES, strict=True):
            for _ in range(count):
                outputs = self.width * multiple
                if index >= skipped:
                    name = f"encoder.features.{number + 1}"
                    layers += [
                        Conv2d(f"encoder.features.{number}", channels, outputs, 3, 1, 1),
                        self._normalised(index, name, outputs),
                        ReLU(),
                    ]
                    channels = outputs
                number, index = number + 3, index + 1
            if side > 1 and index > skipped:
                layers.append(MaxPool2d(2, 2))
                side //= 2
            number += 1
        return layers

    def _top(self) -> list[Layer]:
        if self.classifier == "none":
            return [GlobalAveragePool()]
        name = "encoder.classifier"
        return [
            _PoolTo(_SIDE),
            Flatten(),
            Linear(f"{name}.0", self._channels * _SIDE**2, _HIDDEN),
            ReLU(),
            Linear(f"{name}.3", _HIDDEN, _HIDDEN),
            ReLU(),
            Linear(f"{name}.6", _HIDDEN, _CLASSES),
        ]
