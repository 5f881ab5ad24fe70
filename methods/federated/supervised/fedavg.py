"""FedAvg: one model, averaged over the clients after each round of local training.

Paper: McMahan et al. 2017, Algorithm 1; as CP-CFL's baseline, Section 4.2 (random start, or the
encoder pre-trained). Clients are weighted by their numbers of training images, which the server
knows beforehand, so that the cost of T rounds is 2 S T (CP-CFL Eq. 14).
Evidence: `tests/methods/test_supervised.py` (one client equals plain training; numpy's average).
"""

from dataclasses import dataclass, replace

import torch

from ...metrics import Evaluation
from ...metrics.fairness import classes_per_client
from ...nn.classifier import ENCODER
from ...state import State, part
from ..base import Memory, Message, Round, Server, Task
from ..with_labels import WithLabels


@dataclass(frozen=True)
class FedAvg(WithLabels):
    """Federated averaging, which is what `FederatedMethod` does by default."""

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        same = torch.zeros_like(now.clients)
        trained = self.train_supervised(now, download.shared["weights"], same)
        return Message(per_client={"weights": trained})

    def evaluate(self, task: Task, server: Server, memory: Memory, final: bool) -> Evaluation:
        """The global model on every client's test images; finally also how data are partitioned."""
        found = super().evaluate(task, server, memory, final)
        if not final:
            return found
        dealt = {"classes_per_client": classes_per_client(task.federation)}
        return replace(found, metrics={**found.metrics, **dealt})

    def encoder(self, server: Server) -> State | None:
        return part(server, ENCODER)
