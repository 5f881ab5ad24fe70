"""How much memory a network needs for an image, and how much a batched step should use.

The network runs on torch's `meta` device, which carries shapes only, while a hook adds up what
autograd would save for the backward pass.
Evidence: `tests/methods/test_memory.py`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import torch
from torch import Tensor

from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.state import State

# Steps that stay in the caches are the fastest on a CPU. Measured on one core, Adam, 32 MiB is at
# or near the best at 8x8 (12 clients at once 4 times as fast as one), at 28x28 and 32x32 (7 at
# once), and for single models at 96x96 (16 images at a time 1.3 times as fast as 256).
CPU_STEP = 32 * 2**20


def step_bytes(device: torch.device) -> int:
    """Bytes that the activations and weights of one batched step should take on `device`."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free) // 2
    return CPU_STEP


class Network(Protocol):
    """A layer, or a whole model, whose weights are stacked."""

    def new(self, generator: torch.Generator) -> State:
        """Fresh weights of one model."""

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        """models x batch x ... in and out."""


@lru_cache(maxsize=16)
def image_bytes(model: Network, *shape: int) -> int:
    """Bytes that autograd saves for one input of `shape` of one of several stacked models.

    An upper estimate: a tensor that two layers save counts twice.
    """
    # Batches are even, because views may come in pairs.
    return max(1, (_saved_bytes(model, 4, shape) - _saved_bytes(model, 2, shape)) // 4)


def _saved_bytes(model: Network, batch: int, shape: tuple[int, ...]) -> int:
    drawn = model.new(torch.Generator())
    state = {
        # Two models, because a single one takes another path through the convolutions.
        name: torch.empty(2, *value.shape[1:], device="meta", requires_grad=not is_buffer(name))
        for name, value in drawn.items()
    }
    saved = 0

    def keep(tensor: Tensor) -> Tensor:
        nonlocal saved
        saved += tensor.numel() * tensor.element_size()
        return tensor

    # With gradients switched off, as in evaluation, nothing would be saved.
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(state, torch.empty(2, batch, *shape, device="meta"), training=True)
    return saved
