"""Weights of many models of one architecture as one dictionary of stacked tensors.

Every tensor of a `State` has a leading dimension `models`: 1 for a single model, N for a pool of N
cluster models, 60 for sixty clients in training. Choosing, copying and averaging models are then
index and matrix operations, and the same network code (`methods.nn.layers`) runs one or many.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from .transfer import all_to

State = dict[str, Tensor]

_AVERAGED_AT_ONCE = 1 << 16


def n_models(state: State) -> int:
    """How many models are stacked in `state`."""
    return next(iter(state.values())).shape[0]


def take(state: State, index: Tensor | Sequence[int]) -> State:
    """Copies of the models at `index` (int64, any length, with repeats); {} of an empty state."""
    if not state:
        return {}
    position = positions(state, index)
    return {name: value.index_select(0, position) for name, value in state.items()}


def repeat(state: State, models: int) -> State:
    """`models` copies of a single model."""
    first = next(iter(state.values()), torch.empty(0))
    return take(state, torch.zeros(models, dtype=torch.int64, device=first.device))


def spread(state: State, models: int) -> State:
    """A single model as `models` models that share its memory: for those who only read them."""
    return {name: value.expand(models, *value.shape[1:]) for name, value in state.items()}


def concatenate(states: Iterable[State]) -> State:
    """Stacks the models of several states, in order."""
    listed = list(states)
    return {name: torch.cat([state[name] for state in listed]) for name in listed[0]}


def put(state: State, index: Tensor | Sequence[int], new: State) -> None:
    """Writes the models of `new`, in order, over those of `state` at `index`, in place."""
    if not state:
        return
    if not isinstance(index, Tensor) and len(index) == 1:
        # One slice is copied in half the time of an index (1.7 MB, channels innermost).
        for name, value in state.items():
            value[index[0]].unsqueeze(0).copy_(new[name])
        return
    position = positions(state, index)
    for name, value in state.items():
        value[position] = new[name].to(value.dtype)


def positions(state: State, index: Tensor | Sequence[int]) -> Tensor:
    """`index` (int64) where the models of `state` are, in one copy that nobody waits for."""
    device = next(iter(state.values())).device
    return torch.as_tensor(index, dtype=torch.int64).to(device, non_blocking=True)


def placed(state: State, device: torch.device) -> State:
    """The models on `device`, all tensors in one copy."""
    return dict(zip(state, all_to(device, list(state.values())), strict=True))


def part(state: State, prefix: str) -> State:
    """The tensors whose name begins with `prefix.`, under their full names."""
    return {name: value for name, value in state.items() if name.startswith(prefix + ".")}


def clone(state: State) -> State:
    """A detached copy that shares no memory with `state`."""
    return {name: value.detach().clone() for name, value in state.items()}


def weighted_average(state: State, weights: Tensor) -> State:
    """Averages of the stacked models: row n of `weights` (averages x models) gives average n.
    Rows are normalised (McMahan et al. 2017; CP-CFL Eq. 6), `ValueError` for one without a positive
    sum; integer tensors are rounded."""
    total = weights.sum(dim=1, keepdim=True)
    if not bool((total > 0).all()):
        raise ValueError("an average needs at least one model with positive weight")
    share = weights / total
    averaged: State = {}
    for name, value in state.items():
        flat = value.reshape(value.shape[0], -1)
        share = share.to(flat.device, torch.float64)
        # In pieces: a copy of all models in double precision would not fit in the caches.
        pieces = torch.split(flat, max(1, _AVERAGED_AT_ONCE // len(flat)), dim=1)
        mean = torch.cat([share @ piece.to(torch.float64) for piece in pieces], dim=1)
        if not value.is_floating_point():
            mean = mean.round()
        averaged[name] = mean.to(value.dtype).reshape(-1, *value.shape[1:])
    return averaged


def pool_average(pool: State, trained: State, weights: Tensor) -> State:
    """`pool`, each model of which is the average of `trained` by its row of `weights`.
    A model whose row is zero stays as it is."""
    chosen = weights.sum(dim=1) > 0
    averaged = clone(pool)
    put(averaged, chosen.nonzero().flatten(), weighted_average(trained, weights[chosen]))
    return averaged


def unsqueeze_like(each: Tensor, like: Tensor) -> Tensor:
    """One number a model (or image), (n,), shaped to multiply `like`, n x ..."""
    return each.view(-1, *(1,) * (like.dim() - 1))


def n_parameters(state: State) -> int:
    """Numbers in one model of `state`, counters left out."""
    return sum(v[0].numel() for v in state.values() if v.is_floating_point())


def n_bytes(state: State) -> int:
    """Bytes of all models of `state`, as they would be sent."""
    return sum(v.numel() * v.element_size() for v in state.values())
