"""Soft clusters that are trained with the networks: losses, and learners with trained centres.

Papers: fedrlc, Section III-B (Eqs. 6 to 12, 14, 15), after Li et al. 2021 and Xie et al. 2016.
Interpretations, where the published equations cannot be meant: Eqs. 6, 17 and 32 add the entropy of
the cluster sizes to a minimised loss, which rewards collapse into one cluster. It is subtracted, as
Li et al. do. The exponent of Eq. 8 is -1, which one degree of freedom gives, not the paper's -1/2.
The columns' contrastive loss is NT-Xent (`methods.objectives.simclr`), with the positive pair in
the denominator.
Unstated: the target distribution is taken over the batch, and no gradient flows through it.
Evidence: `tests/methods/test_clustering_objectives.py` (plain loops and numpy).
"""

from abc import abstractmethod

import torch
from torch import Tensor

from ..clusters.soft_assignment import CENTRES, student_t
from ..state import State
from .base import Learner
from .simclr import nt_xent


def cluster_contrast(c_a: Tensor, c_b: Tensor, temperature: float) -> Tensor:
    """Eq. 6 as taken above, (models,); `c_a`, `c_b`: soft labels, models x batch x clusters."""
    columns = nt_xent(c_a.transpose(1, 2), c_b.transpose(1, 2), temperature)
    return columns - size_entropy(c_a) - size_entropy(c_b)


def size_entropy(c: Tensor) -> Tensor:
    """Eq. 7: entropy of clusters' shares, (models,), in nats; `c`: models x batch x clusters."""
    share = c.sum(1) / c.sum((1, 2)).unsqueeze(1)
    # A softmax can round to an empty cluster, where the slope of x log x is infinite.
    logged = share.clamp_min(torch.finfo(share.dtype).tiny)
    return -torch.xlogy(share, logged).sum(1)


def target_distribution(q: Tensor) -> Tensor:
    """Eq. 10 over the batch, without gradient; `q`: models x batch x clusters."""
    sharpened = q.detach().square() / q.detach().sum(1, keepdim=True)
    return sharpened / sharpened.sum(2, keepdim=True)


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """Eq. 11, KL(p || q) of each row: models x batch, in nats."""
    return (torch.xlogy(p, p) - p * q.log()).sum(2)


def embedded_clustering(z_a: Tensor, z_b: Tensor, centres: Tensor) -> Tensor:
    """Eq. 15 (and 19), (models,): each view against its own target distribution."""
    loss = torch.zeros(z_a.shape[0], device=z_a.device)
    for z in (z_a, z_b):
        q = student_t(z, centres)
        loss = loss + divergence(target_distribution(q), q).mean(1)
    return loss


def crossed_divergence(
    q_a: Tensor, q_b: Tensor, target_a: Tensor, target_b: Tensor, select: bool = True
) -> Tensor:
    """FedRLC's Eqs. 23 and 24, (models,): one view's online soft labels (q) against the other
    view's target distribution in the target network; all models x batch x clusters. `select`: only
    images whose two hard labels agree count (Eq. 24), in a mean over the whole batch."""
    loss = torch.zeros(q_a.shape[0], device=q_a.device)
    for q, target in ((q_a, target_b), (q_b, target_a)):
        each = divergence(target_distribution(target), q)
        if select:
            each = each * (q.argmax(2) == target.argmax(2))
        loss = loss + each.mean(1)
    return loss


class CentredLearner(Learner):
    """A learner that trains centres (`methods.clusters.soft_assignment`) with its networks."""

    n_clusters: int
    width: int

    def new(self, generator: torch.Generator) -> State:
        """Networks, then standard normal centres, so that centres change no network."""
        networks = super().new(generator)
        centres = torch.randn(1, self.n_clusters, self.width, generator=generator)
        return {**networks, CENTRES: centres}

    @abstractmethod
    def embed(self, state: State, x: Tensor, training: bool) -> Tensor:
        """What the centres cluster, models x batch x width, of float images x in [0, 1]."""
