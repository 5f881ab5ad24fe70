"""FedPNP: federated contrastive clustering whose negatives are chosen by each client's past model.

Paper: fedrlc, Section VI. Local loss: `methods.objectives.past_negatives`; networks (encoder,
projector, cluster head) are averaged. A client keeps the encoder and cluster head that it had after
its training of the previous round, and labels images with them.
Interpretation: 'round 1', in which the current model chooses and α is larger, is a client's first
round. With all clients in every round the two are the same.
Ablations: `data_selection`, `negative_threshold`.
Evidence: `tests/methods/test_fedema.py`.
"""

import torch

from ...objectives.past_negatives import KNOWN, PastNegativesLearner
from ..base import Message, Round
from ._self_supervised import SelfSupervised, SelfSupervisedMemory


class FedPNP(SelfSupervised):
    """Options of every method, and those of the objective."""

    @property
    def keeps_memory(self) -> bool:
        return True

    def objective_name(self) -> str:
        return "past-negatives"

    def local_update(self, now: Round, download: Message, memory: SelfSupervisedMemory) -> Message:
        upload = super().local_update(now, download, memory)
        learner = self.learner(now.task)
        assert isinstance(learner, PastNegativesLearner)
        known = torch.ones(len(now), dtype=torch.bool, device=now.task.device)
        weights = upload.per_client["weights"]
        past = {**learner.memory(weights), **learner.as_past(weights), KNOWN: known}
        memory.objective.remember(now.clients, past)
        return upload
