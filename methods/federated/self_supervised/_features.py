"""Features as a payload of their own: what clients upload with weights, and what they receive.

Clients' features travel one after the other, with a count for each client.
Evidence: `tests/methods/test_fedca.py`.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ...nn.layers import is_buffer
from ...state import State

FEATURES = "features"
Banks = Mapping[int, Tensor]
"""Features that clients have uploaded last, features x width, by client."""


def packed(banks: Sequence[Tensor]) -> State:
    """A payload of several clients' features (each features x width), in their order."""
    count = torch.tensor([len(bank) for bank in banks], device=banks[0].device)
    return {FEATURES: torch.cat(list(banks)), "count": count}


def unpacked(payload: State) -> list[Tensor]:
    """The clients' features from `packed`."""
    return list(torch.split(payload[FEATURES], payload["count"].tolist()))


def all_but(banks: Banks, client: int) -> Tensor:
    """FCL's Eq. 2: everybody's features but those of `client`, features x width."""
    some = next(iter(banks.values()))
    others = [bank for owner, bank in sorted(banks.items()) if owner != client]
    return torch.cat(others) if others else some[:0]


def padded(banks: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Stacked features, models x most x ..., zero where none are, and which exist (bool)."""
    stacked = torch.nn.utils.rnn.pad_sequence(list(banks), batch_first=True)
    count = torch.tensor([len(bank) for bank in banks], device=stacked.device)
    return stacked, torch.arange(stacked.shape[1], device=stacked.device) < count.unsqueeze(1)


def choose(own: Tensor, n: int, streams: Sequence[torch.Generator]) -> Tensor:
    """`n` different images of each client (all if fewer), int64, models x n, by its own stream."""
    order = torch.stack([torch.randperm(own.shape[1], generator=stream) for stream in streams])
    return own.gather(1, order[:, :n].to(own.device, non_blocking=True))


@torch.no_grad()
def batchwise(
    project: Callable[[State, Tensor], Tensor], state: State, x: Tensor, batch_size: int
) -> Tensor:
    """Features models x n x width of images models x n x C x H x W, in batches of nearly one size.
    Batch normalisation uses each batch's statistics, as in training; those in `state` stay."""
    scratch = {name: value.clone() if is_buffer(name) else value for name, value in state.items()}
    pieces = max(1, round(x.shape[1] / batch_size))
    return torch.cat([project(scratch, piece) for piece in x.chunk(pieces, dim=1)], dim=1)
