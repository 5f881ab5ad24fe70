"""Local training of a round's clients: one at a time, or many as stacked steps.

Evidence: `tests/methods/test_steps.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fedrepro.methods.nn.layers import in_fast_layout
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, n_bytes, n_models, put, take
from fedrepro.methods.training.grouping import (
    ENGINES_CHOICE,
    Grouping,
    equal_chunks,
    fitting,
    padded_chunks,
)
from fedrepro.methods.training.local_loss import LocalLoss, LocalOptions, Trained
from fedrepro.methods.training.plain import train_client
from fedrepro.methods.training.stacked import train_stack


def train_steps(
    local_loss: LocalLoss,
    start: State,
    client_state: State,
    own_of: Sequence[Tensor],
    options: LocalOptions,
    seeds: Seeds,
    t: int,
    clients: Tensor,
    grouping: Grouping = ENGINES_CHOICE,
) -> Trained:
    """The models of `clients` (int64, client numbers) after round `t`.

    start: one model for each client.
    client_state: what the loss needs of each client besides its model, stacked; may be empty.
    own_of: per client an int64 index into the training portion.
    grouping: which clients share steps.

    `start` and `client_state` are left as they are.
    """
    trained = {name: torch.empty_like(value) for name, value in start.items()}
    after = {name: torch.empty_like(value) for name, value in client_state.items()}
    losses = torch.full((len(clients),), torch.nan)
    for chunk in _chunks(local_loss, start, [len(own) for own in own_of], options, grouping):
        state = in_fast_layout(take(start, chunk))
        theirs = in_fast_layout(take(client_state, chunk))
        streams = [seeds.generator("batches", t, client) for client in clients[chunk].tolist()]
        if len(chunk) == 1:
            (i,) = chunk
            loss = train_client(local_loss, state, theirs, i, own_of[i], options, streams[0])
        else:
            own = [own_of[i] for i in chunk]
            loss = train_stack(local_loss, state, theirs, chunk, own, options, streams)
        losses[chunk] = loss.cpu()
        put(trained, chunk, state)
        put(after, chunk, theirs)
    return Trained(trained, after, losses)


def _chunks(
    local_loss: LocalLoss,
    start: State,
    sizes: Sequence[int],
    options: LocalOptions,
    grouping: Grouping,
) -> list[list[int]]:
    """Positions of clients that train together."""
    at_once = grouping.at_once
    if at_once is None:
        # What a client's step holds: activations, weights, gradients and two moments.
        images = min(options.batch_size, max(sizes, default=1))
        one = images * local_loss.image_bytes + 4 * n_bytes(start) // max(1, n_models(start))
        at_once = fitting(next(iter(start.values())).device, one)
    unlike = len(set(sizes)) > 1 and at_once > 1
    if not unlike or grouping.padded is False or not local_loss.is_batch_independent():
        return equal_chunks(sizes, at_once)
    worth = grouping.step_worth(local_loss.image_bytes)
    return padded_chunks(tuple(sizes), at_once, options.batch_size, worth)
