"""Clients that keep the model of their last training and start from a mixture with the global one.

FedU, FedEMA, FedRLC: the target network stays on the client between rounds, and a rule mixes what
was received with what was kept. In its first round a client starts from what it receives.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from fedrepro.methods.federated.base import Memory, Message, Task
from fedrepro.methods.federated.client_memory import ClientStates, written
from fedrepro.methods.federated.self_supervised._self_supervised import (
    SelfSupervised,
    SelfSupervisedMemory,
)
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.state import State, part, put, take


@dataclass
class LocalModelMemory(SelfSupervisedMemory):
    """online: the weights that each client trained last, stacked over all clients."""

    online: State = field(default_factory=dict)


@dataclass(frozen=True)
class KeepsLocalModel(SelfSupervised):
    """A method of BYOL's kind whose clients remember their own online networks."""

    keeps_memory: ClassVar[bool] = True

    def objective_name(self) -> str:
        return "byol"

    def new_memory(self, task: Task) -> LocalModelMemory:
        return LocalModelMemory(ClientStates.of(task.federation.n_clients))

    @abstractmethod
    def merge(
        self, task: Task, received: State, own: State, t: int, clients: Tensor, memory: Memory
    ) -> State:
        """Where `clients` start round `t`, from the global model and their own of the last round.

        Both are stacked over `clients`.
        """

    def begin(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: LocalModelMemory
    ) -> State:
        received = super().begin(task, download, t, clients, memory)
        known = memory.objective.has_trained[clients].nonzero().flatten()
        if len(known):
            again = clients[known]
            own = take(memory.online, again)
            put(received, known, self.merge(task, take(received, known), own, t, again, memory))
        return received

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: LocalModelMemory
    ) -> Message:
        upload = super().local_update(task, download, t, clients, memory)
        n_clients = task.federation.n_clients
        memory.online = written(memory.online, n_clients, clients, upload.each["weights"])
        return upload


def encoder_distance(a: State, b: State) -> Tensor:
    """L2 distance of the trained weights of stacked encoders and projectors, (models,)."""
    names = [n for n in (*part(a, "encoder"), *part(a, "projector")) if not is_buffer(n)]
    squared = [(a[name] - b[name]).flatten(1).square().sum(1) for name in names]
    return torch.stack(squared).sum(0).sqrt()


def mixed(own: State, received: State, share: Tensor) -> State:
    """share x own + (1 - share) x received, running statistics included; share: (models,)."""
    return {
        name: torch.lerp(value, own[name], share.reshape(-1, *[1] * (value.dim() - 1)))
        for name, value in received.items()
    }
