"""How much memory a network needs for an image, and whether images influence each other.

Memory: the network runs on torch's `meta` device, which carries shapes only, while a hook adds up
what autograd would save for the backward pass. Independence: with batch or twin normalisation the
output for an image depends on the rest of the batch; with convolutions, dense layers and group
normalisation it does not. No architecture has to declare either: both are found by trial.
Evidence: `tests/methods/test_probing.py`.
"""

from functools import lru_cache

import torch
from torch import Tensor

from ..nn.layers import Layer, is_buffer
from ..nn.precision import computing_in

# Steps that stay in the caches are the fastest on a CPU. Measured on one core, Adam, 32 MiB is at
# or near the best at 8x8 (12 clients at once 4 times as fast as one), at 28x28 and 32x32 (7 at
# once), and for single models at 96x96 (16 images at a time 1.3 times as fast as 256).
_STEP_BYTES = {"cpu": 32 * 2**20}
# A quarter of a card of 8 GB. The rest is for what is not counted: the weights of all clients,
# patches (`methods.nn.convolution`: at most 1 GiB), views, gradients on their way, what the
# allocator keeps. A larger card holds several trials (`--jobs`; docs/speed.md has a measurement).
_STEP_BYTES_ELSEWHERE = 2 * 2**30


def step_bytes(device: torch.device) -> int:
    """Bytes that the activations and weights of one batched step should take on `device`. It is one
    number for a kind of device, since the number of clients that share a step decides the order of
    sums. If it depended on the memory that is free, results would, too."""
    return _STEP_BYTES.get(device.type, _STEP_BYTES_ELSEWHERE)


@lru_cache(maxsize=16)
def image_bytes(model: Layer, *shape: int) -> int:
    """Bytes that autograd saves for an input of one of several models; layers count their own."""
    # Batches are even, because views may come in pairs.
    return max(1, (_saved_bytes(model, 4, shape) - _saved_bytes(model, 2, shape)) // 4)


def _saved_bytes(model: Layer, batch: int, shape: tuple[int, ...]) -> int:
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

    # With gradients switched off, as in evaluation, nothing would be saved. In float32, whatever a
    # trial computes in: clients then share steps alike in every precision.
    watched = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with computing_in("float32"), torch.enable_grad(), watched:
        model(state, torch.empty(2, batch, *shape, device="meta"), training=True)
    return saved


@lru_cache(maxsize=16)
@torch.no_grad()
def is_batch_independent(model: Layer, *shape: int) -> bool:
    """Whether outputs for an input of `shape` depend on it, and on no other of its batch."""
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

    # In float32: rounding could hide an influence.
    with computing_in("float32"):
        before = of_first(one)
        independent = torch.equal(before, of_first(others_changed))
        return independent and not torch.equal(before, of_first(itself_changed))
