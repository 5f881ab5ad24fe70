"""MoCo on the clients' pooled images: what federation costs, and FCL's upper bound.

Paper: fcl, Section 6 (He et al. 2020, "assuming all data are combined in a single location"). Loss:
`methods.objectives.moco`. One pool trains as long as a client would: rounds x local_epochs passes;
the copy of the network and the queue go on all the time.
Unstated: the optimiser is made anew each round, as in the federated runs, so that the comparison
is of data and not of moments. Nothing is exchanged, so no bytes are counted.
Evidence: `tests/methods/test_moco_centralized.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from fedrepro.methods.data.federation import Federation
from fedrepro.methods.federated.base import Memory, Message, Server, Task
from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised
from fedrepro.methods.metrics import Evaluation
from fedrepro.methods.state import State

MODEL = "model"


@dataclass(frozen=True)
class CentralizedMoCo(SelfSupervised):
    """Options as for every method, those of MoCo beside them."""

    keeps_memory: ClassVar[bool] = True

    def objective_name(self) -> str:
        return "moco"

    def prepare(self, federation: Federation) -> Federation:
        """One client who holds everything (images as often as clients hold them)."""
        return replace(
            federation,
            train_of=(torch.cat(federation.train_of),),
            test_of=(torch.arange(len(federation.test)),),
            group=torch.zeros(1, dtype=torch.int64),
        )

    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        return Message()

    def begin(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> State:
        if MODEL not in memory:
            memory[MODEL] = self.start(task, 0)
        return memory[MODEL]

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        trained = super().local_update(task, download, t, clients, memory)
        memory[MODEL] = dict(trained.each["weights"])
        return Message(log=trained.log)

    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        return server

    def evaluate(
        self, task: Task, server: Server, memory: Memory, final: bool
    ) -> Evaluation | None:
        return super().evaluate(task, memory[MODEL], memory, final)

    def finish(self, task: Task, server: Server, memory: Memory) -> Server:
        return memory[MODEL]
