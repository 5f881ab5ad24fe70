"""pFL-SSL: an encoder by federated self-supervised learning, then a linear head for every client.

Paper: Calibre, Section III-B. Any objective trains the global model, and weights are averaged as in
FedAvg. Afterwards every client trains a head on the frozen encoder (protocol `personalized-head`).
Unstated: target networks and queues between rounds (made again, `_self_supervised`).
Evidence: `tests/methods/test_calibre.py`, `tests/methods/test_self_supervised.py`.
"""

from dataclasses import dataclass

from ._self_supervised import SelfSupervised


@dataclass(frozen=True)
class PFLSSL(SelfSupervised):
    """objective: the registered name of what clients minimise; its options are set next to it."""

    objective: str = "simclr"

    def objective_name(self) -> str:
        return self.objective
