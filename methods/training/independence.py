"""Whether a network treats each image of a training batch by itself, found by trying it.

Batch normalisation does not, nor does twin normalisation; convolutions, dense layers and group
normalisation do. An architecture need not say so, and cannot say it wrongly.
Evidence: `tests/methods/test_independence.py`.
"""

from __future__ import annotations

from functools import lru_cache

import torch

from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.training.memory import Network


@lru_cache(maxsize=16)
@torch.no_grad()
def is_batch_independent(model: Network, *shape: int) -> bool:
    """Whether what a model makes of an image in training does not depend on the others.

    shape: of one input (channels, height, width of an image, or the width of a representation).
    False, too, where nothing that the model gives depends on the image.
    """
    stream = torch.Generator().manual_seed(0)
    # Weights of which none is zero, because a zero could hide what the images do to each other.
    state = {
        name: torch.ones_like(value)
        if is_buffer(name)
        else (0.1 + torch.rand(value.shape, generator=stream)) / value[0].numel() ** 0.5
        for name, value in model.new(stream).items()
    }
    one, other = torch.rand(2, 1, 4, *shape, generator=stream)
    beside, instead = one.clone(), one.clone()
    beside[:, 1:], instead[:, :1] = other[:, 1:], other[:, :1]

    def of_first(x: torch.Tensor) -> torch.Tensor:
        return model({name: value.clone() for name, value in state.items()}, x, training=True)[:, 0]

    alone = of_first(one)
    return torch.equal(alone, of_first(beside)) and not torch.equal(alone, of_first(instead))
