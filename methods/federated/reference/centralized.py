"""Centralised training on the clients' pooled data: what privacy costs, and an upper bound.

Paper: CP-CFL, Section 4.3 and Table 5. All clients' data are pooled, or those of each true cluster,
with accuracies averaged over clusters. A pool trains as long as a federated client would: rounds x
local_epochs epochs, without aggregation. It is evaluated on its clients' pooled test images.
Unstated: an image is in the pool as often as clients hold it, so that the pool follows their
distribution. The optimiser is made again each round, as in the federated runs, so that the
comparison is of data and not of moments. Every pool starts from FedAvg's first model.
Evidence: `tests/methods/test_self_supervised.py`.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ...data.federation import Federation
from ...state import State, repeat
from ..base import Memory, Message, NoExchange, Round, Server, Task
from ..client_memory import ClientMemory
from ..with_labels import WithLabels


@dataclass
class PoolMemory(ClientMemory):
    """models: of all pools, stacked."""

    models: State


@dataclass(frozen=True)
class Centralized(NoExchange, WithLabels):
    """by: `all` for one pool, `cluster` for one for each true group of clients."""

    by: Literal["all", "cluster"] = "all"

    def prepare(self, federation: Federation) -> Federation:
        group = federation.group if self.by == "cluster" else torch.zeros_like(federation.group)
        pools = torch.unique(group)
        members = [(group == pool).nonzero().flatten().tolist() for pool in pools]
        return Federation(
            federation.train,
            federation.test,
            tuple(torch.cat([federation.train_of[c] for c in clients]) for clients in members),
            tuple(torch.cat([federation.test_of[c] for c in clients]) for clients in members),
            pools,
            federation.n_classes,
        )

    def participants(self, task: Task, t: int) -> Tensor:
        return task.everyone

    def start(self, task: Task, attempt: int) -> Server:
        return None

    def new_memory(self, task: Task) -> PoolMemory:
        return PoolMemory(repeat(task.new_model("model", 0, 0), task.federation.n_clients))

    def local_update(self, now: Round, download: Message, memory: PoolMemory) -> Message:
        memory.models = self.train_supervised(now, memory.models, now.clients)
        return Message()

    def personal_models(self, task: Task, server: Server, memory: Memory) -> tuple[State, Tensor]:
        return memory.models, task.everyone
