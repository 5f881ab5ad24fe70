"""Local training of many clients as batched steps on stacked weights, whatever they minimise.

A `Work` says what a step's loss is; this module says which images are in it and moves the weights.
Every client takes exactly the steps that it would take alone: its batches depend on the trial, the
round, the client and the epoch only, each model's loss is its own, and the optimisers work number
by number. Clients with equally many images share a step, so nothing is padded; the last, smaller
batch of an epoch is kept unless the work needs more images than it has.

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

from methods.engine.memory import step_bytes
from methods.models.layers import in_fast_layout, is_buffer
from methods.optim import Optimizer, make_optimizer
from methods.seeds import Seeds
from methods.state import State, n_bytes, n_models, take


@dataclass(frozen=True)
class LocalOptions:
    """How a client trains in one round.

    epochs: passes over its images. batch_size: images. learning_rate: of this round. optimizer: a
    name of `methods.optim`. sgd_momentum: of SGD. weight_decay: added to gradients, as torch does.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: str = "adam"
    sgd_momentum: float = 0.0
    weight_decay: float = 0.0

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
    as positions in each client's own list. epoch: from 0.
    """

    members: tuple[int, ...]
    index: Tensor
    at: Tensor
    epoch: int


class Work(ABC):
    """What clients minimise in one round. `state` and `memory` stack the step's clients."""

    smallest_batch: int = 1
    """Images below which a step is left out (a contrastive loss needs two)."""

    @abstractmethod
    def loss(self, state: State, memory: State, batch: Batch) -> Tensor:
        """Loss of each model, (models,); may move running statistics in place."""

    def begin_epoch(  # noqa: B027
        self, state: State, memory: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        """Called before an epoch; own: models x images, index into the training portion."""

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
    at_once: int | None = None,
) -> Trained:
    """Trains the models of `clients` (int64, client numbers) in round `t`.

    start: one model for each client. memory: what the work keeps beside, stacked likewise; may be
    empty. own_of: per client an int64 index into the training portion. at_once: how many clients
    share a step; None takes as many as are fast. `start` and `memory` are left as they are.
    """
    if at_once is None:
        at_once = _fitting(work, start, own_of, options)
    trained = {name: torch.empty_like(value) for name, value in start.items()}
    kept = {name: torch.empty_like(value) for name, value in memory.items()}
    losses = torch.full((len(clients),), torch.nan)
    for chunk in _chunks(own_of, at_once):
        own = torch.stack([own_of[i] for i in chunk])
        state = in_fast_layout(take(start, chunk))
        beside = in_fast_layout(take(memory, chunk)) if memory else {}
        batches = _batches(seeds, t, clients[chunk], own, options)
        losses[chunk] = _train_stack(work, state, beside, own, tuple(chunk), batches, options).cpu()
        for into, new in ((trained, state), (kept, beside)):
            for name in into:
                into[name][chunk] = new[name].detach()
    return Trained(trained, kept, losses)


def _train_stack(
    work: Work,
    state: State,
    memory: State,
    own: Tensor,
    members: tuple[int, ...],
    batches: Sequence[Sequence[Tensor]],
    options: LocalOptions,
) -> Tensor:
    """Trains `state` and `memory` in place; the mean loss of the last epoch, (models,)."""
    weights = {
        name: value.requires_grad_()
        for name, value in state.items()
        if not is_buffer(name) and value.is_floating_point()
    }
    steps = options.optimizer_over(list(weights.values()))
    rows = torch.arange(len(own), device=own.device).unsqueeze(1)
    total, images = torch.zeros(len(own), device=own.device), 0
    for epoch, of_epoch in enumerate(batches):
        for name, value in weights.items():
            value.requires_grad_(work.learns(name, epoch))
        work.begin_epoch(state, memory, members, own, epoch)
        total, images = torch.zeros_like(total), 0
        for at in of_epoch:
            if at.shape[1] < work.smallest_batch:
                continue
            batch = Batch(members, own[rows, at], at, epoch)
            loss = work.loss(state, memory, batch)
            # What is frozen in this epoch keeps no gradient, and the optimiser passes it over.
            steps.zero_grad(set_to_none=True)
            torch.autograd.backward(loss.sum())
            steps.step()
            with torch.no_grad():
                work.after(state, memory, batch)
            total += loss.detach() * at.shape[1]
            images += at.shape[1]
    for value in weights.values():
        value.requires_grad_(False)
    with torch.no_grad():
        work.end(state, memory, members, own)
    return total / images if images else torch.full_like(total, torch.nan)


def _batches(
    seeds: Seeds, t: int, clients: Tensor, own: Tensor, options: LocalOptions
) -> list[tuple[Tensor, ...]]:
    """For each epoch its batches, each models x batch; a client's own stream orders its images."""
    streams = [seeds.generator("batches", t, client) for client in clients.tolist()]
    images = own.shape[1]
    return [
        torch.split(
            torch.stack([torch.randperm(images, generator=stream) for stream in streams]).to(
                own.device
            ),
            options.batch_size,
            dim=1,
        )
        for _ in range(options.epochs)
    ]


def _chunks(own_of: Sequence[Tensor], at_once: int) -> Iterator[list[int]]:
    """Positions of clients with equally many images, at most `at_once` together."""
    by_size: dict[int, list[int]] = {}
    for position, own in enumerate(own_of):
        by_size.setdefault(len(own), []).append(position)
    for positions in by_size.values():
        for start in range(0, len(positions), at_once):
            yield positions[start : start + at_once]


def _fitting(work: Work, start: State, own_of: Sequence[Tensor], options: LocalOptions) -> int:
    """How many clients a step should hold: activations, weights, gradients and two moments."""
    images = min(options.batch_size, max((len(own) for own in own_of), default=1))
    one = images * work.image_bytes + 4 * n_bytes(start) // max(1, n_models(start))
    at_once = step_bytes(next(iter(start.values())).device) // max(1, one)
    # A single model runs the library's own convolution, which two or three stacked ones never beat.
    return at_once if at_once >= 4 else 1
