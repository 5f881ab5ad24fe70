"""Local training of many clients as batched steps on stacked weights.

Every client takes exactly the steps of `methods.training.plain`: its batches depend on the trial,
the round, the client and the epoch, each model's loss is its own, and optimisers work number by
number. Clients with equally many images share steps as they are. Unlike clients can share steps
where the loss is a mean over images that do not influence each other: a smaller batch is then
padded with images of weight 0. A client with fewer batches than others pauses until they have
finished the epoch, and so does its optimiser, so that its weights, moments and counts of steps are
those that it would have alone. The last, smaller batch of an epoch is trained on, unless the loss
needs more images.

Unstated by the papers: whether an optimiser's moments outlive a round. Taken: a fresh optimiser for
each client and round.
Evidence: `tests/methods/test_plain.py`, `tests/methods/test_steps.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

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
from fedrepro.methods.training.local_loss import Batch, LocalLoss, LocalOptions, Trained
from fedrepro.methods.training.stack import Stack


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
    client_state: what the loss needs of each client beside its model, stacked; may be empty.
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
        images = _Images(tuple(chunk), [own_of[i] for i in chunk], streams, options.batch_size)
        losses[chunk] = _train_stack(local_loss, state, theirs, images, options).cpu()
        put(trained, chunk, state)
        put(after, chunk, theirs)
    return Trained(trained, after, losses)


def _train_stack(
    local_loss: LocalLoss,
    state: State,
    client_state: State,
    images: _Images,
    options: LocalOptions,
) -> Tensor:
    """Trains `state` and `client_state` in place; the mean loss of the last epoch, (models,)."""
    stack = Stack(state, client_state, images.ends, options.optimizer_over)
    total = seen = torch.zeros(stack.models, device=images.own.device)
    for epoch in range(options.epochs):
        learning = [local_loss.learns(name, epoch) for name in stack.trained]
        local_loss.begin_epoch(state, client_state, images.members, images.own, epoch)
        total, seen = torch.zeros_like(total), torch.zeros_like(total)
        for batch, counts in images.epoch(epoch):
            if batch.at.shape[1] < local_loss.smallest_batch:
                continue
            now, theirs = stack.first(len(counts), learning)
            loss = local_loss.loss(now, theirs, batch)
            stack.step(now, loss)
            with torch.no_grad():
                local_loss.after(now, theirs, batch)
            total[: len(counts)] += loss.detach() * counts
            seen[: len(counts)] += counts
    stack.end()
    with torch.no_grad():
        local_loss.end(state, client_state, images.members, images.own)
    return total / seen


class _Images:
    """The images of clients that train together, and their batches; larger clients come first.

    own: models x most images.
    ends: numbers of clients, after which the number of batches changes.
    """

    def __init__(
        self,
        members: tuple[int, ...],
        own_of: Sequence[Tensor],
        streams: Sequence[torch.Generator],
        batch_size: int,
    ) -> None:
        self.members, self.streams, self.batch_size = members, streams, batch_size
        self.own = pad_sequence(list(own_of), batch_first=True)
        self.sizes = [len(own) for own in own_of]
        batches = [-(-size // batch_size) for size in self.sizes]
        last = len(batches) - 1
        self.ends = [i + 1 for i, n in enumerate(batches) if i == last or n != batches[i + 1]]
        self._rows = torch.arange(len(members), device=self.own.device).unsqueeze(1)
        starts = range(0, self.sizes[0], batch_size)
        self._counts = [self._images_from(start) for start in starts]
        self._shares = [_shares(counts) for counts in self._counts]

    def _images_from(self, start: int) -> Tensor:
        """How many images the clients that have any from `start` on have in that batch."""
        left = [min(size - start, self.batch_size) for size in self.sizes if size > start]
        return torch.tensor(left, device=self.own.device)

    def epoch(self, epoch: int) -> Iterator[tuple[Batch, Tensor]]:
        """Batches, and how many images of each client are in them; only the first ones have any."""
        drawn = [
            torch.randperm(size, generator=stream)
            for size, stream in zip(self.sizes, self.streams, strict=True)
        ]
        order = pad_sequence(drawn, batch_first=True).to(self.own.device)
        parts = torch.split(order, self.batch_size, dim=1)
        for at, counts, share in zip(parts, self._counts, self._shares, strict=False):
            n = len(counts)
            index = self.own[self._rows[:n], at[:n]]
            yield Batch(self.members[:n], index, at[:n], epoch, share), counts


def _shares(counts: Tensor) -> Tensor | None:
    """`Batch.share` of clients with so many images, the most first."""
    if counts[0] == counts[-1]:
        return None
    filled = torch.arange(int(counts[0]), device=counts.device) < counts.unsqueeze(1)
    return filled / counts.double().unsqueeze(1)


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
