"""FedC+C (also FedCC): contrastive clustering on every client, networks averaged.

Paper: fedrlc, Section IV (contrastive twice). Loss: `methods.objectives.contrastive_clustering`.
Evidence: `tests/methods/test_fedema.py`.
"""

from ._self_supervised import SelfSupervised


class FedCC(SelfSupervised):
    """Options of every method, and those of contrastive clustering."""

    def objective_name(self) -> str:
        return "contrastive-clustering"
