"""A slowly moving copy of encoder and projector: BYOL's target, MoCo's key network.

It has the names of the weights that it follows, so one network reads both states.
"""

from __future__ import annotations

import torch

from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.state import State, clone, part


def target_of(state: State) -> State:
    """A copy of the encoder and the projector of `state`."""
    return clone({**part(state, "encoder"), **part(state, "projector")})


@torch.no_grad()
def follow(memory: State, state: State, momentum: float) -> None:
    """θ' ← m θ' + (1 - m) θ, in place, for the trained weights that `memory` has a copy of.

    Running statistics stay: the copy has its own.
    """
    for name, value in state.items():
        if name in memory and not is_buffer(name):
            memory[name].lerp_(value, 1 - momentum)
