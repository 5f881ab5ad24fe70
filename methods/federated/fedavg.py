"""FedAvg: one model, averaged over the clients after each round of local training.

Paper: McMahan et al. 2017, Algorithm 1; as CP-CFL's baseline, Section 4.2 (random start, or the
encoder pre-trained). Clients are weighted by their numbers of training images, which the server
knows beforehand, so that the cost of T rounds is 2 S T (CP-CFL Eq. 14).
Evidence: `tests/methods/test_fedavg.py` (one client equals plain training; numpy's average).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from methods.federated.base import FederatedMethod, Memory, Message, Server, Task
from methods.models.classifier import ENCODER
from methods.state import State, part, weighted_average


@dataclass(frozen=True)
class FedAvg(FederatedMethod):
    """Federated averaging; the server is the global model."""

    def start(self, task: Task, attempt: int) -> Server:
        return task.new_model("model", attempt, 0)

    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        return Message(shared={"weights": server})

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        same = torch.zeros_like(clients)
        return Message(
            each={"weights": self.train(task, download.shared["weights"], same, t, clients)}
        )

    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        sizes = task.federation.sizes()[clients].double()
        return weighted_average(upload.each["weights"], sizes.unsqueeze(0))

    def personal_models(
        self, task: Task, server: Server, clients: Tensor, memory: Memory
    ) -> tuple[State, Tensor]:
        return server, torch.zeros_like(clients)

    def encoder(self, server: Server) -> State | None:
        return part(server, ENCODER)
