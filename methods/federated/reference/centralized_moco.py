"""Centralised MoCo: what federation costs, and FCL's upper bound.

Paper: fcl, Section 6 (He et al. 2020, "assuming all data are combined in a single location"). Loss:
`methods.objectives.moco`. One client that holds everything makes rounds x local_epochs passes.
Evidence: `tests/methods/test_self_supervised.py`.
"""

from ...data.federation import Federation
from ._training_alone import TrainingAlone
from .centralized import Centralized


class CentralizedMoCo(TrainingAlone):
    """Options of every method, and those of MoCo."""

    def objective_name(self) -> str:
        return "moco"

    def prepare(self, federation: Federation) -> Federation:
        """One client that holds everything (an image as often as clients hold it)."""
        return Centralized().prepare(federation)
