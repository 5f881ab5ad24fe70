"""Supervised local training of many clients as one batched step on stacked weights.

Every client takes exactly the steps that it would take alone: its batches depend on the trial, the
round, the client and the epoch only, each model's loss is the mean over its own batch, and the
optimisers work number by number. Clients with equally many images share a step, so nothing is
padded; the last, smaller batch of an epoch is kept.

Unstated by CP-CFL: whether an optimiser's moments outlive a round. Taken: a fresh optimiser for
each client and round, as for a client that keeps nothing between rounds.
Evidence: `tests/methods/test_local.py` (plain torch.nn and torch.optim, one client after the
other).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from methods.engine.evaluate import features
from methods.engine.memory import image_bytes, step_bytes
from methods.federation import Federation, Portion, to_float
from methods.models.classifier import HEAD, Classifier
from methods.models.layers import is_buffer
from methods.optim import make_optimizer
from methods.seeds import Seeds
from methods.state import State, n_bytes, n_models, part, take


def train_clients(
    model: Classifier,
    pool: State,
    choice: Tensor,
    federation: Federation,
    clients: Tensor,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    optimizer: str,
    seeds: Seeds,
    t: int,
    encoder_epochs: int | None = None,
    clients_at_once: int | None = None,
) -> State:
    """The models of `clients` (int64) after local training in round `t`, stacked in that order.

    choice: int64, clients; the model of `pool` that a client starts from. epochs: passes over the
    client's images. encoder_epochs: the encoder is trained in the first so many of them (CP-CFL's
    E_l,f), None for all; after them it is frozen, in evaluation mode, and each image is encoded
    once. clients_at_once: how many clients share a step; None takes as many as are fast.
    """
    whole = epochs if encoder_epochs is None else min(encoder_epochs, epochs)
    own_of = [federation.train_of[client] for client in clients.tolist()]
    trained = take(pool, choice)
    learning, encoded = trained, None
    if whole == 0:
        learning = part(trained, HEAD)
        encoded = features(model, pool, choice, federation.train, own_of)
    if clients_at_once is None:
        clients_at_once = (
            len(clients) if whole == 0 else _fitting(model, pool, federation, batch_size)
        )
    for chunk in _chunks(own_of, clients_at_once):
        own = torch.stack([own_of[i] for i in chunk])
        state = take(learning, chunk)
        weights = [value.requires_grad_() for name, value in state.items() if not is_buffer(name)]
        _train_stack(
            model,
            state,
            federation.train,
            own,
            _batches(seeds, t, clients[chunk], own, epochs, batch_size),
            make_optimizer(optimizer, weights, learning_rate),
            whole,
            None if encoded is None else torch.stack([encoded[i] for i in chunk]),
        )
        for name, value in state.items():
            trained[name][chunk] = value.detach()
    return trained


def _train_stack(
    model: Classifier,
    state: State,
    portion: Portion,
    own: Tensor,
    batches: Sequence[Sequence[Tensor]],
    steps: torch.optim.Optimizer,
    whole: int,
    encoded: Tensor | None,
) -> None:
    """Trains `state` in place: everything for `whole` epochs, then the head alone.

    own: models x images, index into `portion`. batches: by epoch, each models x batch, index into
    `own`. encoded: models x images x dim if the encoder is frozen from the start, else None.
    """
    assert portion.labels is not None
    labels = portion.labels[own]
    rows = torch.arange(len(own), device=own.device).unsqueeze(1)
    for epoch, of_epoch in enumerate(batches):
        if epoch == whole and encoded is None:
            encoded = torch.stack(
                features(model, state, torch.arange(len(own)), portion, list(own))
            )
        for batch in of_epoch:
            if epoch < whole:
                x = to_float(portion.images[own[rows, batch]])
                logits = model(state, x, training=True)
            else:
                assert encoded is not None
                logits = model.logits(state, encoded[rows, batch], training=True)
            loss = F.cross_entropy(
                logits.flatten(0, 1), labels[rows, batch].flatten(), reduction="sum"
            )
            steps.zero_grad(set_to_none=True)  # a frozen encoder keeps no gradient, so no step
            torch.autograd.backward(loss / batch.shape[1])
            steps.step()


def _batches(
    seeds: Seeds, t: int, clients: Tensor, own: Tensor, epochs: int, batch_size: int
) -> list[tuple[Tensor, ...]]:
    """For each epoch its batches, each models x batch; a client's own stream orders its images."""
    streams = [seeds.generator("batches", t, client) for client in clients.tolist()]
    images = own.shape[1]
    return [
        torch.split(
            torch.stack([torch.randperm(images, generator=stream) for stream in streams]).to(
                own.device
            ),
            batch_size,
            dim=1,
        )
        for _ in range(epochs)
    ]


def _chunks(own_of: Sequence[Tensor], at_once: int) -> Iterator[list[int]]:
    """Positions of clients with equally many images, at most `at_once` together."""
    by_size: dict[int, list[int]] = {}
    for position, own in enumerate(own_of):
        by_size.setdefault(len(own), []).append(position)
    for positions in by_size.values():
        for start in range(0, len(positions), at_once):
            yield positions[start : start + at_once]


def _fitting(model: Classifier, pool: State, federation: Federation, batch_size: int) -> int:
    """How many clients a step should hold: activations, weights, gradients and two moments."""
    images = federation.train.images
    one = batch_size * image_bytes(model, *images.shape[1:]) + 4 * n_bytes(pool) // n_models(pool)
    at_once = step_bytes(images.device) // one
    # A single model runs the library's own convolution, which two or three stacked ones never beat.
    return at_once if at_once >= 4 else 1
