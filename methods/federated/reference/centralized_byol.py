"""Centralised BYOL: the clients' images in one place, an upper bound.

Paper: fedrlc, Table II. Single training of one client that holds everything: as many passes over
the data as the federated methods make.
Evidence: `tests/methods/test_fedema.py`.
"""

from dataclasses import dataclass

from ...data.federation import Federation
from .centralized import Centralized
from .single_training import SingleTraining


@dataclass(frozen=True)
class CentralizedBYOL(SingleTraining):
    """Options of every method, and those of BYOL."""

    objective: str = "byol"

    def prepare(self, federation: Federation) -> Federation:
        return Centralized().prepare(federation)
