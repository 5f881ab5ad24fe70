"""Calibre: self-supervised training that keeps encodings in clusters, averaged by their tightness.

Paper: Calibre, Section IV-B and Algorithm 1. Loss: l_s + α (l_p + l_n) with α = 0.3
(`methods.objectives._prototypes`). Clients are weighted by their samples' mean distance to the
prototypes (Section I). Then each trains a linear head (`personalized-head`).
Interpretations. The aggregation has no formula: a client with n images and mean distance d has
weight n / d. Here d is at least a tenth of the mean, lest a client whose encodings have collapsed
to points outweigh all others. Distances are Euclidean, from encodings of length one in evaluation
mode to the centres of K-means over all images of the client after its local training. Algorithm 1's
l_c is left out: it is not defined, and training has no labels.
Unstated: K (10) and τ (0.5, at which the text's distance and line 17's product are equivalent).
Where the authors' code (TL-System/plato, `examples/ssl/calibre`) differs, options follow it.
K-means of a batch and L_n's means use encodings as they are, not of length one (`calibre_loss.py`);
so do distances, averaged over clusters and without a least value (`calibre_trainer.py`). Its server
multiplies updates by the client's share before averaging over clients (`calibre_server.py`), which
divides the step by their number. The paper has no such factor, nor is it an option.
Evidence: `tests/methods/test_calibre.py` (for every objective: which encodings are remembered).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from ...clusters.kmeans import group_means, kmeans
from ...nn.classifier import Classifier
from ...nn.layers import Layer
from ...objectives._prototypes import clusters, prototype_contrast, prototype_meta
from ...objectives.base import Learner, Objective
from ...state import State, weighted_average
from ...training.evaluate import features
from ..base import Memory, Message, Round, Server, Task
from ._self_supervised import SelfSupervised


class Remembering(Layer):
    """A layer that keeps its outputs until they are asked for."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self._outputs: list[Tensor] = []

    def new(self, generator: torch.Generator) -> State:
        return self.layer.new(generator)

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        out = self.layer(state, x, training)
        self._outputs.append(out)
        return out

    def recall(self, rows: int) -> Tensor:
        """The first `rows` rows that were given since the last time, models x rows x dim."""
        remembered = torch.cat(self._outputs, dim=1)[:, :rows]
        self._outputs.clear()
        return remembered


class Calibrated(Learner):
    """l_s + α (l_p + l_n) (Algorithm 1, last line), around an encoder that remembers.
    Every objective encodes its first view before its second, in one call or two, so the first 2N
    encodings are those of the views. Through a moving copy (MoCo, SMoG) they have no gradient."""

    def __init__(self, learner: Any, encoder: Remembering, method: Calibre) -> None:
        self.learner, self.encoder, self.method = learner, encoder, method

    def new(self, generator: torch.Generator) -> State:
        return cast(State, self.learner.new(generator))

    def memory(self, state: State) -> State:
        return cast(State, self.learner.memory(state))

    def loss(
        self, state: State, memory: State, views: Sequence[Tensor], labels: Tensor | None
    ) -> Tensor:
        own, loss = self.method, self.learner.loss(state, memory, views, labels)
        # models x batch x dim
        z_a, z_b = self.encoder.recall(2 * views[0].shape[1]).chunk(2, dim=1)
        if not (own.prototype_meta or own.prototype_contrast):
            return cast(Tensor, loss)
        # models x batch, and how many
        of_a, of_b, k = clusters(z_a, z_b, own.n_prototypes, own.normalised_clusters)
        if own.prototype_meta:
            tau, unit = own.prototype_temperature, own.normalised_prototypes
            l_n = prototype_meta(z_a, z_b, of_a, of_b, k, tau, unit)
            loss = loss + own.regularizer_weight * l_n
        if own.prototype_contrast:
            # models x batch x width
            h_a, h_b = (self.learner.projector(state, z, training=True) for z in (z_a, z_b))
            l_p = prototype_contrast(h_a, h_b, of_a, of_b, k, own.prototype_temperature)
            loss = loss + own.regularizer_weight * l_p
        return cast(Tensor, loss)

    def update(self, state: State, memory: State) -> None:
        self.learner.update(state, memory)


@dataclass(frozen=True)
class Calibre(SelfSupervised):
    """Options of every method and of the objective, and:

    `objective`: registered name of l_s. `prototype_meta`, `prototype_contrast`: whether L_n and L_p
    are in the loss. `regularizer_weight`: α. `n_prototypes`: K. `prototype_temperature`: τ.
    `normalised_clusters`, `normalised_prototypes`, `normalised_divergence`: whether K-means of a
    batch, the means of L_n and a client's distances are of encodings of length one, or as they are.
    `divergence_by`: a client's distance is the mean over its images, or over its clusters' means.
    `divergence_floor`: distances below this share of the participants' mean count as that share."""

    objective: str = "simclr"
    prototype_meta: bool = True
    prototype_contrast: bool = True
    regularizer_weight: float = 0.3
    n_prototypes: int = 10
    prototype_temperature: float = 0.5
    normalised_clusters: bool = True
    normalised_prototypes: bool = True
    normalised_divergence: bool = True
    divergence_by: Literal["image", "cluster"] = "image"
    divergence_floor: float = 0.1

    def objective_name(self) -> str:
        return self.objective

    def learner(self, task: Task) -> Calibrated:
        assert task.objective is not None
        return _calibrated(task.objective, task.model, task.federation.n_classes, self)

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        message = super().local_update(now, download, memory)
        weights, chosen = message.per_client["weights"], torch.arange(len(now))
        train, own_of = now.task.federation.train, now.images()
        encoded = features(now.task.model, weights, chosen, train, own_of)
        apart = mean_distances(
            encoded,
            self.n_prototypes,
            now.streams("prototypes"),
            self.normalised_divergence,
            self.divergence_by,
        )
        return replace(
            message,
            per_client={**message.per_client, "divergence": {"divergence": apart}},
            log={**message.log, "divergence": apart},
        )

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        apart = upload.per_client["divergence"]["divergence"].double().cpu()
        floor = self.divergence_floor * float(apart.mean())
        weight = now.sizes() / apart.clamp(min=max(floor, 1e-12))
        return weighted_average(upload.per_client["weights"], weight.unsqueeze(0))


def mean_distances(
    encoded: Sequence[Tensor],
    n_prototypes: int,
    generators: Sequence[torch.Generator],
    normalised: bool = True,
    by: Literal["image", "cluster"] = "image",
) -> Tensor:
    """Mean distance of each client's encodings to their centres, (clients,). `encoded`: per client
    images x dim. Each client draws its first centres from its own generator. `normalised`: of
    encodings of length one. `by`: over its images, or over its clusters' means."""
    apart = []
    for own, generator in zip(encoded, generators, strict=True):
        z = F.normalize(own, dim=1) if normalised else own
        centres, choice = kmeans(z[None], n_prototypes, [generator])  # 1 x K x dim, 1 x images
        each = (z - centres[0, choice[0]]).norm(dim=1)  # images
        if by == "cluster":
            means, sizes = group_means(each[None, :, None], choice, n_prototypes)
            each = means[0, sizes[0] > 0, 0]  # clusters that have any
        apart.append(each.mean())
    return torch.stack(apart)


@lru_cache(maxsize=8)
def _calibrated(
    objective: Objective, model: Classifier, n_classes: int, method: Calibre
) -> Calibrated:
    encoder = Remembering(model.encoder)
    return Calibrated(objective.build(encoder, model.dim, n_classes), encoder, method)
