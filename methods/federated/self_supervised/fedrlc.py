"""FedRLC: BYOL with a crossed clustering loss, centres and networks updated by divergence.

Paper: fedrlc, Section V, Eqs. 23 to 28, Algorithm 1. Local loss: `methods.objectives.crossed_kl`.
Online networks start a round as in FedEMA (Eq. 28). A client's centres start as ε/(1+ε) own +
1/(1+ε) global (Eq. 26). Here ε is the mean divergence, over its images, of its own last model's
soft labels from those of the global model (Eq. 27).
Interpretations: Eq. 27 compares with the client's centres of round r-1, as those of round r follow
from its result. Both representations are the predictor's output, where the centres are trained.
Centres are averaged with the networks (Algorithm 1, line 7; line 16 does not return them).
Unstated: the networks of Eq. 27 are in evaluation mode. Centres begin by K-means
(`methods.federated.self_supervised._initial_centres`), and have weight decay as all weights.
Ablations: `data_selection`, `clustering_loss` (`methods.objectives.crossed_kl`). Without the
clustering loss there are no centres, and what is left is FedEMA.
Seen: on digits nine of ten centres have images at the start, one to three at the end. BYOL's cosine
leaves the length of the predictor's output free, and it grows past the centres. Squared distances
(Eq. 8) then nearly agree (largest soft label 0.13), and the centre nearest the origin is nearest to
most images. The target network labels so from the first step, as the centres never fitted its
projections. Normalised representations keep five in use, but Eq. 8 does not normalise.
Evidence: `tests/methods/test_fedema.py` (two clients by hand).
"""

import torch
from torch import Tensor

from ...clusters.soft_assignment import CENTRES, student_t
from ...objectives._soft_clusters import CentredLearner, divergence
from ...state import State, take
from ..base import Round, Server, Task
from ._initial_centres import with_initial_centres
from .fedema import FedEMA, ScaledMemory

_BATCH = 500


class FedRLC(FedEMA):
    """Options of FedEMA, and those of the objective."""

    def objective_name(self) -> str:
        return "crossed-kl"

    def start(self, task: Task, attempt: int) -> Server:
        return with_initial_centres(task, self.learner(task), super().start(task, attempt))

    def merge(self, now: Round, received: State, own: State, memory: ScaledMemory) -> State:
        networks = super().merge(now, received, own, memory)
        if CENTRES not in received:
            return networks
        epsilon = torch.stack(
            [
                self.label_divergence(now.of(now.clients[[i]]), take(received, [i]), take(own, [i]))
                for i in range(len(now))
            ]
        )
        return {**networks, CENTRES: merged_centres(own[CENTRES], received[CENTRES], epsilon)}

    @torch.no_grad()
    def label_divergence(self, now: Round, received: State, own: State) -> Tensor:
        """ε of Eq. 27 for the one participant, a scalar; both models single."""
        task, learner = now.task, self.learner(now.task)
        assert isinstance(learner, CentredLearner)
        assert task.augmentation is not None
        (index,), streams = now.images(), now.streams("centre views")
        total = torch.zeros((), device=task.device)
        for batch in torch.split(index, _BATCH):
            images = task.federation.train.images[batch][None]
            views = task.augmentation.stacked_views(images, 2, streams)
            q_global, q_own = (
                student_t(
                    torch.stack([learner.embed(model, x, training=False) for x in views]).mean(0),
                    model[CENTRES],
                )
                for model in (received, own)
            )
            total += divergence(q_global, q_own).sum()
        return total / len(index)


def merged_centres(own: Tensor, received: Tensor, epsilon: Tensor) -> Tensor:
    """Eq. 26: models x clusters x width from two of them and ε (models,), at least 0."""
    share = (epsilon / (1 + epsilon)).reshape(-1, 1, 1)
    return torch.lerp(received, own, share)
