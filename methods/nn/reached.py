"""Training without the weights that no image reaches.

Where a convolution puts out one pixel, most of a kernel may lie on padding: of 3x3 places on a
single pixel, eight. Weights there have no gradient, so clients whose optimiser moves every number
by its own gradients alone can train without them. In the network of four convolutions that CP-CFL's
reduced profile trains on 8x8 images they are nearly two thirds of all weights.
Evidence: `tests/methods/test_probing.py` (training with and without them).
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from ..state import State, take
from .layers import REACHED, Layer

ReachedPlaces = Mapping[str, tuple[slice, slice]]
"""By the name of a weight, the rows and columns of its kernels that images reach."""


@torch.no_grad()
def reached_places(network: Layer, state: State, image: Tensor) -> ReachedPlaces:
    """The part of each kernel of `network` that a float image C x H x W reaches, if not all of it.
    Convolutions record it in `REACHED` as an empty batch passes."""
    token = REACHED.set({})
    try:
        network(take(state, [0]), image[None, None][:, :0])
        recorded = REACHED.get() or {}
    finally:
        REACHED.reset(token)
    places = {}
    for name, found in recorded.items():
        (first, *others) = found
        if first is None or others:
            continue
        start, high, wide = first
        if (high, wide) != state[name].shape[3:]:
            places[name] = (slice(start, start + high), slice(start, start + wide))
    return places


def trimmed(state: State, places: ReachedPlaces) -> State:
    """`state` without the weights that no image reaches; trimmed kernels are copies."""
    return {
        name: value[(..., *places[name])].clone() if name in places else value
        for name, value in state.items()
    }


def restored(state: State, before: State, places: ReachedPlaces) -> State:
    """The trimmed `state` with the missing weights as they were in `before`."""
    full = dict(state)
    for name, place in places.items():
        full[name] = before[name].clone()
        full[name][(..., *place)] = state[name]
    return full
