"""FedC+NC (also FedSimDEC): SimCLR and DEC on every client, networks and centres averaged.

Paper: fedrlc, Section IV (contrastive, non-contrastive). Loss: `methods.objectives.simclr_dec`.
Unstated: centres begin by K-means (`methods.federated.self_supervised._initial_centres`).
Evidence: `tests/methods/test_fedema.py`.
"""

from ..base import Server, Task
from ._initial_centres import with_initial_centres
from ._self_supervised import SelfSupervised


class FedCNC(SelfSupervised):
    """Options of every method, and those of the objective."""

    def objective_name(self) -> str:
        return "simclr-dec"

    def start(self, task: Task, attempt: int) -> Server:
        return with_initial_centres(task, self.learner(task), super().start(task, attempt))
