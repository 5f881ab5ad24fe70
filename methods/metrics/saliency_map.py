"""Which pixels move a representation, and how much of that lies on one side of an image.

Source: Simonyan et al. 2014, "Deep inside convolutional networks": the largest absolute derivative
over a pixel's channels.
Evidence: `tests/methods/test_saliency.py` (a linear network by hand, finite differences).
"""

from __future__ import annotations

import torch
from torch import Tensor

from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.state import State

METRICS = ("rare_share",)
"""Share of the saliency on the half of an image that shows what a client has few images of."""


def saliency(network: Layer, state: State, x: Tensor) -> Tensor:
    """Saliency n x height x width of the length |h| of the representation of each image.

    x: n x channels x height x width, in [0, 1]. state: one model, in evaluation mode.
    """
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        length = network(state, leaf.unsqueeze(0))[0].norm(dim=1).sum()
    (gradient,) = torch.autograd.grad(length, leaf)
    return gradient.abs().amax(1)


def left_share(maps: Tensor) -> Tensor:
    """Share of each map (n x height x width) in its left half, (n,); a half where it is all 0."""
    total = maps.flatten(1).sum(1)
    left = maps[:, :, : maps.shape[2] // 2].flatten(1).sum(1)
    return torch.where(total > 0, left / total.clamp(min=torch.finfo(maps.dtype).tiny), 0.5)
