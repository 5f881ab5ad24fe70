"""Centralised BYOL: the clients' images in one place, an upper bound.

Paper: fedrlc, Table II. One client holds everything, and makes as many passes as federated methods.
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
