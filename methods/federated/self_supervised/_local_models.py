"""Clients that keep the model of their last training and start from a mixture with the global one.

What FedU, FedEMA and FedRLC have in common: the target network stays on the client between rounds,
and a rule says how what was received and what was kept become the start of the next training. A
client that trains for the first time starts from what it receives.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedrepro.methods.federated.base import Memory, Message, Task
from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.state import State, part, put, take


@dataclass(frozen=True)
class KeepsLocalModel(SelfSupervised):
    """A method of BYOL's kind whose clients remember their own online networks."""

    keeps_memory: ClassVar[bool] = True

    def objective_name(self) -> str:
        return "byol"

    @abstractmethod
    def merge(
        self, task: Task, received: State, own: State, t: int, clients: Tensor, memory: Memory
    ) -> State:
        """Where `clients` start round `t`, from the global model and their own of the last round.

        Both are stacked over `clients`.
        """

    def begin(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> State:
        received = super().begin(task, download, t, clients, memory)
        if "local" not in memory:
            return received
        known = memory["met"]["met"][clients].nonzero().flatten()
        if len(known):
            again = clients[known]
            own = take(memory["local"], again)
            put(received, known, self.merge(task, take(received, known), own, t, again, memory))
        return received

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        upload = super().local_update(task, download, t, clients, memory)
        remember(memory, "local", task.federation.n_clients, clients, upload.each["weights"])
        return upload


def remember(memory: Memory, name: str, n_clients: int, clients: Tensor, new: State) -> None:
    """Writes the models of `new`, in order, over what `clients` keep under `name`."""
    if name not in memory:
        memory[name] = {k: v.new_zeros(n_clients, *v.shape[1:]) for k, v in new.items()}
    put(memory[name], clients, new)


def encoder_distance(a: State, b: State) -> Tensor:
    """L2 distance of the trained weights of stacked encoders and projectors, (models,)."""
    squared: list[Tensor] = []
    for name in (*part(a, "encoder"), *part(a, "projector")):
        if not is_buffer(name):
            squared.append((a[name] - b[name]).flatten(1).square().sum(1))
    return torch.stack(squared).sum(0).sqrt()


def mixed(own: State, received: State, share: Tensor) -> State:
    """share x own + (1 - share) x received, running statistics included; share: (models,)."""
    return {
        name: torch.lerp(value, own[name], share.reshape(-1, *[1] * (value.dim() - 1)))
        for name, value in received.items()
    }
