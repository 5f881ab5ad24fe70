"""What a federated method is: five small steps that the loop in `methods.engine.loop` calls.

    server = start                              weights, and whatever else the server keeps
    every round:
        download = broadcast(server)            what the participants receive
        upload   = local_update(download)       what they send back (all participants in one call)
        server   = aggregate(server, upload)
    models = personal_models(server)            the model that each client is evaluated with

Weights, features, cluster centres and choices all travel in a `Message`, so the loop counts what
is really exchanged. State that a client keeps between rounds (a momentum encoder, a control
variate, a memory bank) lives in `Memory`, which only `local_update` and `personal_models` see: the
server never does. Nothing here knows how many clients are trained at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from methods.federation import Federation
from methods.models.classifier import Classifier
from methods.seeds import Seeds
from methods.state import State, n_bytes

Memory = dict[str, State]
"""Per name, a state stacked over ALL clients of the federation; empty at the start of a run."""


@dataclass(frozen=True)
class Message:
    """What is sent in one direction in one round.

    shared: sent whole to (or from) every participant. each: stacked over participants, one slice
    for each. log: facts for the record (not sent), stacked over participants.
    """

    shared: Mapping[str, State] = field(default_factory=dict)
    each: Mapping[str, State] = field(default_factory=dict)
    log: Mapping[str, Tensor] = field(default_factory=dict)

    def bytes_exchanged(self, participants: int, only: str | None = None) -> int:
        """Bytes sent in this direction; `only` counts the payload of that name alone."""
        shared = sum(n_bytes(s) for name, s in self.shared.items() if only in (None, name))
        each = sum(n_bytes(s) for name, s in self.each.items() if only in (None, name))
        return participants * shared + each


@dataclass(frozen=True)
class Task:
    """What a method is given: data, architecture, pre-trained weights, random streams.

    encoder: pre-trained encoder weights (one model), or None for a random start.
    clients_at_once: how many clients are trained as one batched step; None lets the engine choose.
    """

    federation: Federation
    model: Classifier
    seeds: Seeds
    device: torch.device
    encoder: State | None = None
    clients_at_once: int | None = None

    def new_model(self, *names: str | int) -> State:
        """One model from the stream `names`: random weights, with the pre-trained encoder if any.

        The same names give the same weights to every method of the trial.
        """
        state = self.model.new(self.seeds.generator("weights", *names))
        if self.encoder is not None:
            state.update(self.encoder)
        return {name: value.to(self.device) for name, value in state.items()}


Server = Any
"""What a method's server keeps between rounds; any object that the method defines."""


@dataclass(frozen=True)
class FederatedMethod(ABC):
    """Options shared by every method; the fields of a subclass are its options in a spec.

    rounds: T. local_epochs: passes over a client's data per round. batch_size: images.
    learning_rate: of the local optimiser, which is made anew each round. optimizer: `adam` or
    `sgd`. participation: share of the clients that take part in a round.
    """

    rounds: int = 100
    local_epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 1e-3
    optimizer: str = "adam"
    participation: float = 1.0

    def prepare(self, federation: Federation) -> Federation:
        """The federation that the method trains and is evaluated on (centralised training pools)."""
        return federation

    @abstractmethod
    def start(self, task: Task, attempt: int) -> Server:
        """The server before the first round; `attempt` counts restarts from 0."""

    @abstractmethod
    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        """What the participants (int64 client numbers) of round `t` (from 0) receive."""

    @abstractmethod
    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        """Local work of all participants; may change their slices of `memory`."""

    @abstractmethod
    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        """The server after round `t`."""

    @abstractmethod
    def personal_models(self, task: Task, server: Server, clients: Tensor, memory: Memory) -> State:
        """The model with which each of `clients` is evaluated, stacked in that order."""

    def failed(self, task: Task, upload: Message, t: int, attempt: int) -> bool:
        """Whether training must start again with other random weights (IFCA's restarts)."""
        return False

    def encoder(self, server: Server) -> State | None:
        """One encoder (names `encoder.*`) that later runs can start from, or None."""
        return None


Progress = Callable[[int, int], None]
"""Called with (rounds done, rounds in all)."""
