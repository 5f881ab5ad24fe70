"""FedSwAV: SwAV on every client, networks and prototypes averaged.

Paper: fcl, Section 6 (Caron et al. 2020 with FedAvg). Loss: `methods.objectives.swav`.
Unstated: what becomes of prototypes (averaged like weights) and queues (a client begins each round
with empty ones, since features of an older network say little of the new one).
Evidence: `tests/methods/test_self_supervised.py`.
"""

from ._self_supervised import SelfSupervised


class FedSwAV(SelfSupervised):
    """Options of every method, and those of SwAV."""

    def objective_name(self) -> str:
        return "swav"
