"""FedNC+C (also FedBYCC): BYOL and a contrast of clusters on every client, networks averaged.

Paper: fedrlc, Section IV (two stages: non-contrastive, contrastive). Loss:
`methods.objectives.byol_cc`. Target networks as in FedBYOL.
Evidence: `tests/methods/test_fedema.py`.
"""

from ._self_supervised import WithTarget


class FedNCC(WithTarget):
    """Options of every method, and those of the objective."""

    def objective_name(self) -> str:
        return "byol-cc"
