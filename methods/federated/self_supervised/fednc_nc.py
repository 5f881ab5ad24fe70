"""FedNC+NC (also FedBYDEC): BYOL and DEC on every client, networks and centres averaged.

Paper: fedrlc, Section IV (two stages, both non-contrastive). Loss: `methods.objectives.byol_dec`.
Target networks as in FedBYOL.
Unstated: centres begin by K-means (`methods.federated.self_supervised._initial_centres`).
Evidence: `tests/methods/test_fedema.py`.
"""

from ._self_supervised import WithTarget
from .fedc_nc import FedCNC


class FedNCNC(FedCNC, WithTarget):
    """Options of every method, and those of the objective."""

    def objective_name(self) -> str:
        return "byol-dec"
