"""FedRot: rotation prediction on every client, networks averaged.

Paper: fcl, Section 6 (Gidaris et al. 2018 with FedAvg). Loss: `methods.objectives.rotation`.
Evidence: `tests/methods/test_self_supervised.py`.
"""

from ._self_supervised import SelfSupervised


class FedRot(SelfSupervised):
    """Options of every method."""

    def objective_name(self) -> str:
        return "rotation"
