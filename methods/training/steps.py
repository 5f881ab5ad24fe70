"""Local training of many clients as batched steps on stacked weights, whatever they minimise.

A `Work` says what a step's loss is; this module says which images are in it and moves the weights.
Every client takes exactly the steps that it would take alone: its batches depend on the trial, the
round, the client and the epoch only, each model's loss is its own, and the optimisers work number
by number. Clients with equally many images share steps as they are. Unlike clients can, where a
work's loss is a mean over images that know nothing of each other: smaller batches are then filled
up with images that weigh nothing, and a client with fewer batches waits while the others finish the
epoch, so that its weights, moments and counts of steps are those that it would have alone. The
last, smaller batch of an epoch is kept unless the work needs more images than it has.

Unstated by the papers: whether an optimiser's moments outlive a round. Taken: a fresh optimiser for
each client and round, as for a client that keeps nothing between rounds.
Evidence: `tests/methods/test_local.py` (plain torch.nn and torch.optim, one client after the
other), `tests/methods/test_steps.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fedrepro.methods.nn.layers import in_fast_layout
from fedrepro.methods.optim.optimizers import (
    Optimizer,
    make_optimizer,
    moves_by_gradients_alone,
)
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, n_bytes, n_models, put, take
from fedrepro.methods.training.grouping import (
    ENGINES_CHOICE,
    Grouping,
    equal_chunks,
    fitting,
    padded_chunks,
)
from fedrepro.methods.training.spread import for_each
from fedrepro.methods.training.stack import Stack


@dataclass(frozen=True)
class LocalOptions:
    """How a client trains in one round.

    epochs: passes over its images. batch_size: images. learning_rate: of this round. optimizer: a
    name of `methods.optim.optimizers`. sgd_momentum: of SGD. weight_decay: added to gradients, as
    torch does.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: str = "adam"
    sgd_momentum: float = 0.0
    weight_decay: float = 0.0

    @property
    def moves_by_gradients_alone(self) -> bool:
        """As `methods.optim.optimizers.moves_by_gradients_alone`."""
        return moves_by_gradients_alone(self.optimizer, self.weight_decay)

    def optimizer_over(self, weights: Sequence[Tensor]) -> Optimizer:
        """A fresh optimiser over leaf tensors."""
        more: dict[str, Any] = {}
        if self.sgd_momentum and self.optimizer == "sgd":
            more["momentum"] = self.sgd_momentum
        if self.weight_decay:
            more["weight_decay"] = self.weight_decay
        return make_optimizer(self.optimizer, weights, self.learning_rate, **more)


@dataclass(frozen=True)
class Batch:
    """The images of one step.

    members: positions, among the clients in training, of those that take the step, in the order of
    the stacked models. index: int64, models x batch, into the training portion. at: the same images
    as positions in each client's own list. epoch: from 0. share: what each image weighs in its
    model's mean, models x batch, 0 for those that only fill up; None where all weigh the same.
    """

    members: tuple[int, ...]
    index: Tensor
    at: Tensor
    epoch: int
    share: Tensor | None = None

    def mean(self, each: Tensor) -> Tensor:
        """Each model's mean over its own images, (models,); each: models x batch."""
        if self.share is None:
            return each.mean(dim=1)
        return (each * self.share.to(each.dtype)).sum(dim=1)


class Work(ABC):
    """What clients minimise in one round. `state` and `memory` stack the step's clients.

    Several threads may call it at the same time for different clients, so that what it keeps of its
    own is kept for each client, or in `memory`.
    """

    smallest_batch: int = 1
    """Images below which a step is left out (a contrastive loss needs two)."""

    def image_wise(self) -> bool:
        """Whether batches of unlike sizes may share a step.

        True only where the loss is `batch.mean` of terms that each depend on one image, and terms
        without images; no step depends on the batch otherwise (no batch statistics, no draws); and
        memory is changed in place.
        """
        return False

    @abstractmethod
    def loss(self, state: State, memory: State, batch: Batch) -> Tensor:
        """Loss of each model, (models,); may move running statistics in place."""

    def begin_epoch(  # noqa: B027
        self, state: State, memory: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        """Called before an epoch; own: models x images, index into the training portion.

        Rows of smaller clients, where sizes are unlike, are filled up with any image.
        """

    def learns(self, name: str, epoch: int) -> bool:
        """Whether the weight of that name is trained in that epoch."""
        return True

    def after(self, state: State, memory: State, batch: Batch) -> None:  # noqa: B027
        """Changes `memory` (or projects `state`) in place after an optimiser's step."""

    def end(  # noqa: B027
        self, state: State, memory: State, members: Sequence[int], own: Tensor
    ) -> None:
        """Called once after the last epoch; may change both in place."""

    @property
    @abstractmethod
    def image_bytes(self) -> int:
        """Bytes that a step keeps for one image of one model."""


@dataclass(frozen=True)
class Trained:
    """What local training returns, stacked over the clients in their order.

    state: weights and running statistics. memory: what the work keeps. loss: (clients,), the mean
    over the images of the last epoch; NaN for a client that took no step.
    """

    state: State
    memory: State
    loss: Tensor


def train_steps(
    work: Work,
    start: State,
    memory: State,
    own_of: Sequence[Tensor],
    options: LocalOptions,
    seeds: Seeds,
    t: int,
    clients: Tensor,
    grouping: Grouping = ENGINES_CHOICE,
) -> Trained:
    """Trains the models of `clients` (int64, client numbers) in round `t`.

    start: one model for each client. memory: what the work keeps beside, stacked likewise; may be
    empty. own_of: per client an int64 index into the training portion. grouping: which of them
    share steps; by default the engine's choice. `start` and `memory` are left as they are.
    """
    trained = {name: torch.empty_like(value) for name, value in start.items()}
    kept = {name: torch.empty_like(value) for name, value in memory.items()}
    losses = torch.full((len(clients),), torch.nan)

    def train(chunk: list[int]) -> None:
        state = in_fast_layout(take(start, chunk))
        beside = in_fast_layout(take(memory, chunk)) if memory else {}
        streams = [seeds.generator("batches", t, client) for client in clients[chunk].tolist()]
        images = _Images(tuple(chunk), [own_of[i] for i in chunk], streams, options.batch_size)
        losses[chunk] = _train_stack(work, state, beside, images, options).cpu()
        put(trained, chunk, state)
        put(kept, chunk, beside)

    chunks = _chunks(work, start, [len(own) for own in own_of], options, grouping)
    for_each(train, chunks, grouping.chunks_at_once(chunks))
    return Trained(trained, kept, losses)


class _Images:
    """The images of clients that train together, and their batches; larger clients come first.

    own: models x most images. ends: numbers of clients, after which the number of batches changes.
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


def _train_stack(
    work: Work, state: State, memory: State, images: _Images, options: LocalOptions
) -> Tensor:
    """Trains `state` and `memory` in place; the mean loss of the last epoch, (models,)."""
    stack = Stack(state, memory, images.ends, options.optimizer_over)
    total = seen = torch.zeros(stack.models, device=images.own.device)
    for epoch in range(options.epochs):
        learning = [work.learns(name, epoch) for name in stack.trained]
        work.begin_epoch(state, memory, images.members, images.own, epoch)
        total, seen = torch.zeros_like(total), torch.zeros_like(total)
        for batch, counts in images.epoch(epoch):
            if batch.at.shape[1] < work.smallest_batch:
                continue
            now, beside = stack.first(len(counts), learning)
            loss = work.loss(now, beside, batch)
            stack.step(now, loss)
            with torch.no_grad():
                work.after(now, beside, batch)
            total[: len(counts)] += loss.detach() * counts
            seen[: len(counts)] += counts
    stack.end()
    with torch.no_grad():
        work.end(state, memory, images.members, images.own)
    return total / seen


def _chunks(
    work: Work, start: State, sizes: Sequence[int], options: LocalOptions, grouping: Grouping
) -> list[list[int]]:
    """Positions of clients that train together."""
    at_once = grouping.at_once
    if at_once is None:
        # What a client's step holds: activations, weights, gradients and two moments.
        images = min(options.batch_size, max(sizes, default=1))
        one = images * work.image_bytes + 4 * n_bytes(start) // max(1, n_models(start))
        at_once = fitting(next(iter(start.values())).device, one)
    unlike = len(set(sizes)) > 1 and at_once > 1
    if not unlike or grouping.padded is False or not work.image_wise():
        return equal_chunks(sizes, at_once)
    worth = grouping.step_worth(work.image_bytes)
    return padded_chunks(tuple(sizes), at_once, options.batch_size, worth)
