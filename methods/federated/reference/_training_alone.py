"""Clients that train by themselves without labels: nothing is exchanged.

Each trains for rounds x local_epochs epochs in all; what its objective keeps goes on too.
Unstated by the papers: the optimiser is made again each round, as in the federated runs.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from ...metrics import Evaluation
from ...state import State, put, repeat, take
from ..base import Memory, Message, NoExchange, Round, Server, Task
from ..client_memory import ClientStates
from ..self_supervised._self_supervised import SelfSupervised, SelfSupervisedMemory


@dataclass
class LocalMemory(SelfSupervisedMemory):
    """models: of all clients, stacked."""

    models: State = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingAlone(NoExchange, SelfSupervised):
    """All clients start from the weights from which the federated methods start."""

    @property
    def keeps_memory(self) -> bool:
        return True

    def new_memory(self, task: Task) -> LocalMemory:
        n_clients = task.federation.n_clients
        return LocalMemory(ClientStates.of(n_clients), repeat(self.start(task, 0), n_clients))

    def begin(self, now: Round, download: Message, memory: LocalMemory) -> State:
        return take(memory.models, now.clients)

    def local_update(self, now: Round, download: Message, memory: LocalMemory) -> Message:
        trained = super().local_update(now, download, memory)
        put(memory.models, now.clients, dict(trained.per_client["weights"]))
        return Message(log=trained.log)

    def finish(self, task: Task, server: Server, memory: LocalMemory) -> Server:
        """All clients' models, stacked: protocols measure each and average."""
        return take(memory.models, torch.arange(task.federation.n_training))

    def personal_models(self, task: Task, server: Server, memory: Memory) -> tuple[State, Tensor]:
        return memory.models, task.everyone

    def evaluate(self, task: Task, server: Server, memory: LocalMemory, final: bool) -> Evaluation:
        each = [
            super(TrainingAlone, self).evaluate(task, take(memory.models, [k]), memory, final)
            for k in range(task.federation.n_training)
        ]
        mean = {n: sum(one.metrics[n] for one in each) / len(each) for n in each[0].metrics}
        return Evaluation(mean)
