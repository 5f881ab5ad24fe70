"""Whether what a network makes of an image in training depends on the rest of the batch.

With batch or twin normalisation it does; with convolutions, dense layers and group normalisation it
does not. The network is tried on random images, so that no architecture has to declare it.
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
    """Whether a model's output for an image does not depend on the other images of the batch.

    shape: of one input (channels, height, width of an image, or the width of a representation).
    Also false where the output depends on no image at all.
    """
    stream = torch.Generator().manual_seed(0)
    # No weight is zero: a zero could hide an influence of one image on another.
    state = {
        name: torch.ones_like(value)
        if is_buffer(name)
        else (0.1 + torch.rand(value.shape, generator=stream)) / value[0].numel() ** 0.5
        for name, value in model.new(stream).items()
    }
    one, other = torch.rand(2, 1, 4, *shape, generator=stream)
    others_changed, itself_changed = one.clone(), one.clone()
    others_changed[:, 1:], itself_changed[:, :1] = other[:, 1:], other[:, :1]

    def of_first(x: torch.Tensor) -> torch.Tensor:
        return model({name: value.clone() for name, value in state.items()}, x, training=True)[:, 0]

    before = of_first(one)
    independent = torch.equal(before, of_first(others_changed))
    return independent and not torch.equal(before, of_first(itself_changed))
