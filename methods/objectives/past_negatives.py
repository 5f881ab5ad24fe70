"""FedPNP's local loss: contrastive clustering whose negatives a past model has chosen.

Paper: fedrlc, Section VI, Eqs. 29 to 33. An image is a negative of another unless the soft labels
that the client's model of the previous round gives to the two are alike. In a client's first round
the current model's labels choose, and the clustering loss weighs more.
Interpretations: Eq. 29's similarity exp(u.v) is at least 1 on soft labels, so the paper's threshold
0.999 would leave no negative. The Gaussian exp(-|u - v|^2 / 2) is meant: for hard labels it is the
paper's similarity divided by its largest value. Eq. 30 is taken as NT-Xent: the positive pair stays
in the denominator, and both directions are averaged. It has no value for an empty pool: an anchor
without a negative repels all others instead. In the first steps soft labels are nearly uniform and
every pool is empty: without repulsion the encoders of digits collapsed.
Unstated: the past model is in evaluation mode, and labels the very views of the current step.
Evidence: `tests/methods/test_clustering_objectives.py` (plain loops, a constructed batch).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..clusters.soft_assignment import HEAD
from ..nn.layers import Layer
from ..state import State, n_models, part
from ._soft_clusters import cluster_contrast
from .base import Views
from .contrastive_clustering import ContrastiveClustering, ContrastiveClusteringLearner
from .simclr import nt_xent

PAST, KNOWN = "past", "past_known"


def similarity(u: Tensor, v: Tensor) -> Tensor:
    """Gaussian similarity of rows of u and of v (soft labels): models x batch x batch."""
    squared = (u.unsqueeze(2) - v.unsqueeze(1)).square().sum(3)  # models x batch x batch
    return torch.exp(-squared / 2)


def negative_pool(y_own: Tensor, y_other: Tensor, threshold: float) -> Tensor:
    """Eq. 29, models x batch x batch: whether image j is a negative of the anchor i. `y_own`,
    `y_other`: soft labels of the anchors' view, and of the other one. Both views of a negative are
    less similar to the anchor than `threshold`; without any, all other images are negatives."""
    alike = torch.maximum(similarity(y_own, y_own), similarity(y_own, y_other)) >= threshold
    others = ~torch.eye(y_own.shape[1], dtype=torch.bool, device=y_own.device)
    pool = others & ~alike
    return torch.where(pool.any(dim=2, keepdim=True), pool, others)


def pnp_contrast(
    z_a: Tensor, z_b: Tensor, y_a: Tensor, y_b: Tensor, temperature: float, threshold: float
) -> Tensor:
    """Eq. 30 as taken above, (models,). `z_a`, `z_b`: representations, models x batch x width.
    `y_a`, `y_b`: the soft labels that choose."""
    z_a, z_b = F.normalize(z_a, dim=2), F.normalize(z_b, dim=2)
    positive = (z_a * z_b).sum(2) / temperature  # models x batch
    loss = torch.zeros(z_a.shape[0], device=z_a.device)
    for own, other, y_own, y_other in ((z_a, z_b, y_a, y_b), (z_b, z_a, y_b, y_a)):
        excluded = ~negative_pool(y_own, y_other, threshold)  # models x batch x batch
        logits = [positive.unsqueeze(2)]  # models x batch x 1
        for them in (own, other):
            pairs = torch.bmm(own, them.transpose(1, 2)) / temperature  # models x batch x batch
            logits.append(pairs.masked_fill(excluded, -math.inf))
        loss = loss + (torch.cat(logits, dim=2).logsumexp(2) - positive).mean(1) / 2
    return loss


class PastNegativesLearner(ContrastiveClusteringLearner):
    """Contrastive clustering's networks; the memory is the client's past model, if there is one."""

    def __init__(self, encoder: Layer, dim: int, n_clusters: int, options: PastNegatives) -> None:
        super().__init__(encoder, dim, n_clusters, options)
        self.options = options

    def memory(self, state: State) -> State:
        """No past model yet: its place, and that it is empty."""
        known = torch.zeros(
            n_models(state), dtype=torch.bool, device=next(iter(state.values())).device
        )
        return {**self.as_past(state), KNOWN: known}

    def as_past(self, state: State) -> State:
        """What of trained weights labels images in the next round, under the memory's names."""
        labelling = {**part(state, "encoder"), **part(state, HEAD)}
        return {f"{PAST}.{name}": value.detach().clone() for name, value in labelling.items()}

    def loss(self, state: State, memory: State, views: Views, labels: Tensor | None) -> Tensor:
        options, known = self.options, memory[KNOWN]
        z_a, z_b, c_a, c_b = self.both_heads(state, views)
        weight = torch.where(known, options.cluster_weight, options.first_cluster_weight)
        clusters = weight * cluster_contrast(c_a, c_b, self.cluster_temperature)
        if not options.data_selection:
            return nt_xent(z_a, z_b, self.temperature) + clusters
        y_a, y_b = self._choosing(memory, views, (c_a.detach(), c_b.detach()))
        threshold = options.negative_threshold
        return pnp_contrast(z_a, z_b, y_a, y_b, self.temperature, threshold) + clusters

    @torch.no_grad()
    def _choosing(self, memory: State, views: Views, current: Sequence[Tensor]) -> list[Tensor]:
        """Soft labels of both views: the past model's, or `current` where there is none."""
        known = memory[KNOWN]
        # Only the processor looks: on a card every step would wait for the answer, and the past
        # model's labels, of which none is then taken, cost less.
        if known.device.type == "cpu" and not bool(known.any()):
            return list(current)
        past = {name.removeprefix(f"{PAST}."): v for name, v in part(memory, PAST).items()}
        chosen = []
        for x, now in zip(views, current, strict=True):
            h = self.encoder(past, x)  # models x batch x dim
            then = torch.softmax(self.head(past, h), dim=2)  # models x batch x clusters
            chosen.append(torch.where(known[:, None, None], then, now))
        return chosen


@dataclass(frozen=True)
class PastNegatives(ContrastiveClustering):
    """Options of contrastive clustering. `negative_threshold`: μ. first_cluster_weight, then
    cluster_weight: α in a client's first round and later. `data_selection`: whether negatives are
    chosen at all; otherwise all other images are."""

    negative_threshold: float = 0.999
    first_cluster_weight: float = 2.0
    cluster_weight: float = 0.1
    data_selection: bool = True

    def build(self, encoder: Layer, dim: int, n_classes: int) -> PastNegativesLearner:
        return PastNegativesLearner(encoder, dim, n_classes, self)
