"""Single training: every client trains by itself without labels, and nothing is exchanged.

Paper: fedrlc, Sections VII-B and VII-C: the lower bound; means over the clients' models.
Evidence: `tests/methods/test_fedema.py`.
"""

from dataclasses import dataclass

from ._training_alone import TrainingAlone


@dataclass(frozen=True)
class SingleTraining(TrainingAlone):
    """objective: the registered name of what clients minimise; its options are set next to it."""

    objective: str = "byol"

    def objective_name(self) -> str:
        return self.objective
