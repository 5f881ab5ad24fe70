"""Single training: every client trains by itself without labels, and nothing is exchanged.

Paper: fedrlc, Sections VII-B and VII-C: the lower bound; measures are averaged over the clients'
models. All clients start from the weights from which the federated methods start, and train as long
as a federated client does: rounds x local_epochs epochs, the optimiser made anew each round.
Evidence: `tests/methods/test_fedrlc.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedrepro.methods.federated.base import Memory, Message, Server, Task
from fedrepro.methods.federated.self_supervised._local_models import remember
from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised
from fedrepro.methods.metrics import Evaluation
from fedrepro.methods.state import State, repeat, take


@dataclass(frozen=True)
class SingleTraining(SelfSupervised):
    """objective: the registered name of what clients minimise; its options stand beside."""

    keeps_memory: ClassVar[bool] = True

    objective: str = "byol"

    def objective_name(self) -> str:
        return self.objective

    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        return Message()

    def begin(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> State:
        if "local" not in memory:
            memory["local"] = repeat(self.start(task, 0), task.federation.n_clients)
        return take(memory["local"], clients)

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        trained = super().local_update(task, download, t, clients, memory)
        n_clients = task.federation.n_clients
        remember(memory, "local", n_clients, clients, trained.each["weights"])
        return Message(log=trained.log)

    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        return server

    def finish(self, task: Task, server: Server, memory: Memory) -> Server:
        """All clients' models, stacked: protocols measure each and average."""
        return take(memory["local"], torch.arange(task.federation.n_training))

    def personal_models(
        self, task: Task, server: Server, clients: Tensor, memory: Memory
    ) -> tuple[State, Tensor]:
        return memory["local"], clients

    def evaluate(
        self, task: Task, server: Server, memory: Memory, final: bool
    ) -> Evaluation | None:
        """Means over the clients' models."""
        each = [
            super(SingleTraining, self).evaluate(task, take(memory["local"], [k]), memory, final)
            for k in range(task.federation.n_training)
        ]
        found = [evaluation.metrics for evaluation in each if evaluation is not None]
        return Evaluation({n: sum(m[n] for m in found) / len(found) for n in found[0]})
