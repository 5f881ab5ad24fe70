"""What a learner holds besides trained weights: a queue of features, a slowly moving copy.

A queue starts empty and counts how much of it is filled. Noise in place of features that do not
exist yet (as in the code of He et al. 2020) would stay for whole rounds where clients hold few
images. Entries stand newest first, so the size need not be a multiple of the batch.
A copy of encoder and projector (BYOL's target, MoCo's key network) has the names of the weights
that it follows, so one network reads both states.
Evidence: `tests/methods/test_objectives_with_memory.py` (order and size against Python's deque).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..nn.layers import is_buffer
from ..state import State, clone, part


def new_queue(name: str, size: int, width: int, like: Tensor) -> State:
    """`name.features` (models x size x width) and `name.filled` (int64, models), all zero."""
    models = like.shape[0]
    filled = torch.zeros(models, dtype=torch.int64, device=like.device)
    return {f"{name}.features": like.new_zeros(models, size, width), f"{name}.filled": filled}


def enqueue(memory: State, name: str, features: Tensor) -> None:
    """Puts `features` (models x batch x width, oldest first) in front, in new tensors."""
    old = memory[f"{name}.features"]
    size = old.shape[1]
    newest = features.detach().flip(1)
    memory[f"{name}.features"] = torch.cat([newest, old], dim=1)[:, :size]
    memory[f"{name}.filled"] = (memory[f"{name}.filled"] + features.shape[1]).clamp(max=size)


def is_filled(memory: State, name: str) -> Tensor:
    """bool, models x size: which entries of the queue `name` hold a feature."""
    filled, size = memory[f"{name}.filled"], memory[f"{name}.features"].shape[1]
    return torch.arange(size, device=filled.device) < filled.unsqueeze(1)


def last_width(projector_widths: tuple[int, ...], dim: int) -> int:
    """Width of the features that are queued: the projector's, or the encoder's without one."""
    return projector_widths[-1] if projector_widths else dim


def unit(x: Tensor) -> Tensor:
    """Vectors of length one along the last dimension."""
    return F.normalize(x, dim=-1)


def target_of(state: State) -> State:
    """A copy of the encoder and the projector of `state`."""
    return clone({**part(state, "encoder"), **part(state, "projector")})


@torch.no_grad()
def follow(memory: State, state: State, momentum: float) -> None:
    """θ' ← m θ' + (1 - m) θ, in place, for trained weights; running statistics stay."""
    for name, value in state.items():
        if name in memory and not is_buffer(name):
            memory[name].lerp_(value, 1 - momentum)
