"""FedProx: clients are held near the received model by a quadratic term.

Paper: Li et al. 2020, "Federated optimization in heterogeneous networks", Eq. 2; as MFCL's
baseline, Table 2. The term μ/2 |w - w_t|² is added to the local loss, with the received w_t.
Deviations: no partial work of slow clients; all do the same number of epochs.
Unstated in MFCL: μ (0.01, best on CIFAR-10 in Li et al. 2021). Running statistics are left free.
Evidence: `tests/methods/test_supervised.py`.
"""

from dataclasses import dataclass

from torch import Tensor

from ...state import State, repeat
from ...training.local import Supervised
from ...training.local_loss import Batch, squared_distance
from ..base import Memory, Message, Round, Task
from .fedavg import FedAvg


class Proximal(Supervised):
    """Cross-entropy and μ/2 times the squared distance from `anchor`, one model."""

    def __init__(self, task: Task, anchor: State, weight: float) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.anchor, self.weight = anchor, weight

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        far = squared_distance(state, self.anchor)  # models
        return super().loss(state, client_state, batch) + self.weight / 2 * far  # models


@dataclass(frozen=True)
class FedProx(FedAvg):
    """proximal_weight: μ."""

    proximal_weight: float = 0.01

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        received = download.shared["weights"]
        loss = Proximal(now.task, received, self.proximal_weight)
        trained = self.train(now, loss, repeat(received, len(now)))
        return Message(per_client={"weights": trained.state}, log={"loss": trained.loss})
