"""Normalisation that does not depend on the batch: group normalisation and MFCL's twin form.

Papers: Wu and He 2018 (GN); MFCL, Section 3.3, Eqs. 2 and 3 (TN). TN normalises a group of channels
of both augmented views of one image together. A batch of 2K views holds the first views of all K
images and then the second ones, as MFCL's client mini-batch does (Section 2.1).
Deviations: taken literally, Eq. 2 does not divide by the number of pixels; here mean and variance
are over channels and pixels. `variance = "averaged"` is the form of Table 18: the mean of the
views' own variances, smaller than the pooled one by a quarter of the squared difference of the
views' means. Scale and shift are per channel, as in Table 18 (Eq. 3 has one of each for a layer).
Unstated: groups where their size does not divide the channels (the decoder's last layer has three):
the last one is smaller. An image without a twin, as in evaluation, is its own: TN then equals GN.
Evidence: `tests/methods/test_normalisation.py` (torch's GN, plain loops over Eq. 2, gradcheck).
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..state import State
from .layers import BatchNorm, Layer
from .precision import widened

Norm = Literal["batch", "group", "twin"]
TwinVariance = Literal["pooled", "averaged"]


class GroupNorm(Layer):
    """Groups of `group_channels` neighbouring channels of each image, to mean 0 and variance 1."""

    def __init__(self, name: str, channels: int, group_channels: int, eps: float = 1e-5) -> None:
        self.name, self.channels, self.eps = name, channels, eps
        self.group_channels = min(group_channels, channels)

    def new(self, generator: torch.Generator) -> State:
        return {
            f"{self.name}.weight": torch.ones(1, self.channels),
            f"{self.name}.bias": torch.zeros(1, self.channels),
        }

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return self._scaled(state, widened(x), training).to(x.dtype)

    def _scaled(self, state: State, x: Tensor, training: bool) -> Tensor:
        whole = self.channels // self.group_channels * self.group_channels
        parts = [part for part in (x[:, :, :whole], x[:, :, whole:]) if part.shape[2]]
        groups = (whole // self.group_channels, 1)
        normalised = torch.cat(
            [self._normalised(p, n, training) for p, n in zip(parts, groups, strict=False)], dim=2
        )
        shape = (-1, 1, self.channels, 1, 1)
        weight, bias = state[f"{self.name}.weight"], state[f"{self.name}.bias"]
        return torch.addcmul(bias.view(shape), normalised, weight.view(shape))

    def _normalised(self, x: Tensor, groups: int, training: bool) -> Tensor:
        return F.group_norm(x.flatten(0, 1), groups, eps=self.eps).view(x.shape)


class TwinNorm(GroupNorm):
    """GN over both views of an image: in training, image k of the batch and image K + k are twins.
    `variance`: `pooled` (Eq. 2), `averaged` (Table 18). Training on odd batches: `ValueError`."""

    def __init__(
        self,
        name: str,
        channels: int,
        group_channels: int,
        variance: TwinVariance = "pooled",
        eps: float = 1e-5,
    ) -> None:
        super().__init__(name, channels, group_channels, eps)
        self.variance = variance

    def _normalised(self, x: Tensor, groups: int, training: bool) -> Tensor:
        if not training:
            return super()._normalised(x, groups, training)
        models, batch, channels, height, width = x.shape
        if batch % 2:
            raise ValueError(f"twin normalisation needs two views of each image, not {batch} views")
        # models x 2 x K x groups x channels of a group x pixels
        grouped = x.reshape(models, 2, batch // 2, groups, channels // groups, height * width)
        together = grouped.permute(0, 2, 3, 1, 4, 5)
        if self.variance == "pooled":
            flat = together.reshape(models * (batch // 2), groups, -1)
            normalised = F.group_norm(flat, groups, eps=self.eps).view(together.shape)
        else:
            own, means = torch.var_mean(together, dim=(4, 5), correction=0, keepdim=True)
            mean, spread = means.mean(dim=3, keepdim=True), own.mean(dim=3, keepdim=True)
            normalised = (together - mean) / (spread + self.eps).sqrt()
        return normalised.permute(0, 3, 1, 2, 4, 5).reshape(x.shape)


def normalisation(
    norm: Norm,
    name: str,
    channels: int,
    group_channels: int,
    momentum: float = 0.1,
    variance: TwinVariance = "pooled",
) -> Layer:
    """The layer for `norm`, which takes those of the other arguments that it has."""
    if norm == "batch":
        return BatchNorm(name, channels, momentum)
    if norm == "group":
        return GroupNorm(name, channels, group_channels)
    return TwinNorm(name, channels, group_channels, variance)
