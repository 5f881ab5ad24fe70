"""The part of every kernel that meets an image: what small images leave of a network's weights.

Where nothing but one pixel comes out of a convolution, most of its kernels may lie on padding: of
3x3 places on a single pixel eight. Weights there are multiplied by zeros. They have no gradient,
and an optimiser that moves every number by its own gradients alone leaves them where they are, so
clients can train without them. Of the network with four convolutions that CP-CFL's reduced profile
trains on 8x8 images they are nearly two thirds.
Evidence: `tests/methods/test_met.py` (training with and without, bit by bit what stays).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from fedrepro.methods.nn.layers import SEEN
from fedrepro.methods.state import State, take

Places = Mapping[str, tuple[slice, slice]]
"""By the name of a weight, the rows and columns of its kernels that meet images."""


class Network(Protocol):
    """A layer, or a whole model."""

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        """models x batch x ... in and out."""


@torch.no_grad()
def met_places(network: Network, state: State, image: Tensor) -> Places:
    """What a float image C x H x W, and any other of its size, meets in the kernels of `network`.

    Kernels that it meets whole are left out. Nothing is computed: no image goes through.
    """
    token = SEEN.set({})
    try:
        network(take(state, [0]), image[None, None][:, :0])
        seen = SEEN.get() or {}
    finally:
        SEEN.reset(token)
    places = {}
    for name, found in seen.items():
        (first, *others) = found
        if first is None or others:
            continue
        start, high, wide = first
        if (high, wide) != state[name].shape[3:]:
            places[name] = (slice(start, start + high), slice(start, start + wide))
    return places


def trimmed(state: State, places: Places) -> State:
    """`state` without the weights that meet no image; copies of those that have some."""
    return {
        name: value[(..., *places[name])].clone() if name in places else value
        for name, value in state.items()
    }


def whole(state: State, before: State, places: Places) -> State:
    """The trimmed `state` with the weights that it lacks, as they were in `before`."""
    full = dict(state)
    for name, place in places.items():
        full[name] = before[name].clone()
        full[name][(..., *place)] = state[name]
    return full
