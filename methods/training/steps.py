"""Local training of a round's clients: one at a time, or many as stacked steps.

Clients with equally many images can always share steps. Unlike clients can where padding is exact
(`LocalLoss.is_batch_independent`): smaller batches are padded to those of the largest client. The
clients, ordered by size, are cut into chunks in the cheapest way, where a step costs as much as its
images and `STEP` bytes of images more.
Evidence: `tests/methods/test_optim.py`, `tests/methods/test_grouping.py` (every way of cutting).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from ..nn.layers import alone
from ..seeds import Seeds
from ..state import State, n_bytes, n_models, positions, put, take
from .local_loss import LocalLoss, LocalOptions, TrainedClients
from .plain import train_client
from .probing import step_bytes
from .stacked import train_stack

STEP = 512 * 2**10
_EVERYTHING = 1 << 40


@dataclass(frozen=True)
class Grouping:
    """How the clients of a round share steps, which changes no result; None: the engine chooses.
    `at_once`: how many share a step at most. `padded`: whether clients of unlike sizes share steps
    wherever that is exact (true), never (false), or where it is faster (None)."""

    at_once: int | None = None
    padded: bool | None = None

    def step_worth(self, image_bytes: int) -> int:
        """How many images cost as much as a step; `image_bytes`: of `memory.image_bytes`."""
        return _EVERYTHING if self.padded else max(1, STEP // image_bytes)


ENGINES_CHOICE = Grouping()


def fitting(device: torch.device, client_bytes: int) -> int:
    """How many clients a step should hold that need `client_bytes` each."""
    at_once = step_bytes(device) // max(1, client_bytes)
    # A single model runs the library's own convolution: two or three stacked models are slower.
    return at_once if at_once >= 4 else 1


def equal_chunks(sizes: Sequence[int], at_once: int) -> list[list[int]]:
    """Positions of clients with equally many images, at most `at_once` together."""
    by_size: dict[int, list[int]] = {}
    for position, size in enumerate(sizes):
        by_size.setdefault(size, []).append(position)
    return [
        positions[start : start + at_once]
        for positions in by_size.values()
        for start in range(0, len(positions), at_once)
    ]


@lru_cache(maxsize=16)
def padded_chunks(
    sizes: tuple[int, ...], at_once: int, batch_size: int, step_worth: int
) -> list[list[int]]:
    """Positions of clients that share steps, at most `at_once`; larger clients come first. `sizes`:
    images of each client. `step_worth`: how many images cost as much as a step."""
    order = sorted(range(len(sizes)), key=lambda position: -sizes[position])
    # cheapest[i]: the least cost of the clients from the i-th in order on, and the next cut.
    cheapest = [(0, 0)] * (len(sizes) + 1)
    for first in reversed(range(len(sizes))):
        most = sizes[order[first]]
        cost, found = step_worth * -(-most // batch_size), []
        for end in range(first + 1, min(first + at_once, len(sizes)) + 1):
            cost += min(-(-sizes[order[end - 1]] // batch_size) * batch_size, most)
            found.append((cost + cheapest[end][0], end))
        # Of equal costs the longest chunk.
        cheapest[first] = min(found, key=lambda one: (one[0], -one[1]))
    chunks, first = [], 0
    while first < len(sizes):
        end = cheapest[first][1]
        chunks.append(order[first:end])
        first = end
    return chunks


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
) -> TrainedClients:
    """The models of `clients` (int64, client numbers) after round `t`. `start`: one model for each
    client. `client_state`: what the loss needs of each besides its model, stacked. `own_of`: per
    client an int64 index into the training portion. Inputs stay as given."""
    trained = {name: torch.zeros_like(value) for name, value in start.items()}
    after = {name: torch.zeros_like(value) for name, value in client_state.items()}
    losses, unread = torch.full((len(clients),), torch.nan), list[tuple[list[int], Tensor]]()
    chunks = _chunks(local_loss, start, [len(own) for own in own_of], options, grouping)

    for chunk in chunks:
        streams = [seeds.generator("batches", t, client) for client in clients[chunk].tolist()]
        at: Tensor | list[int] = chunk if len(chunk) == 1 else positions(start, chunk)
        if len(chunk) == 1:
            (i,) = chunk
            state, theirs = alone(start, i), alone(client_state, i)
            loss = train_client(local_loss, state, theirs, i, own_of[i], options, streams[0])
        else:
            own = [own_of[i] for i in chunk]
            state, theirs = take(start, at), take(client_state, at)
            loss = train_stack(local_loss, state, theirs, chunk, own, options, streams)
        unread.append((chunk, loss))
        put(trained, at, state)
        put(after, at, theirs)
    if unread:  # losses of all chunks at once: the host need not wait for each
        where = [i for chunk, _ in unread for i in chunk]
        losses[where] = torch.cat([loss for _, loss in unread]).cpu()
    return TrainedClients(trained, after, losses)


def _chunks(
    local_loss: LocalLoss,
    start: State,
    sizes: Sequence[int],
    options: LocalOptions,
    grouping: Grouping,
) -> list[list[int]]:
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
