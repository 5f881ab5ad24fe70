"""FedPAC: features aligned with global class centroids, classifiers combined for each client.

Paper: Xu et al. 2023: a client trains its classifier with the received encoder frozen, then the
encoder with its classifier frozen on cross-entropy plus λ times the squared distance between
features and the global centroids of their classes; the server averages encoders by size, centroids
by images of the class, and gives each client a combination of all classifiers
(`methods.federated.personalized._classifier_combination`). As MFCL's baseline, Table 4.
Departures: one learning rate and one optimiser for both stages.
Unstated in MFCL: λ (1, the default of Xu et al.), and which model its accuracy on the balanced test
set is of: the averaged encoder with the classifiers averaged by size is taken, a single global
model as for the other supervised methods, not the personal ones. The statistics that the server
needs come from the received encoder, so that they can be compared.
Evidence: `tests/methods/test_fedpac.py`, `tests/methods/test_classifier_combination.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import FederatedMethod, Memory, Message, Server, Task
from fedrepro.methods.federated.personalized._classifier_combination import (
    combination_weights,
    feature_statistics,
)
from fedrepro.methods.nn.classifier import ENCODER, HEAD
from fedrepro.methods.state import State, part, put, repeat, take, weighted_average
from fedrepro.methods.training.evaluate import features
from fedrepro.methods.training.local import Supervised, cross_entropies
from fedrepro.methods.training.local_loss import Batch, LocalOptions


class Aligned(Supervised):
    """First the classifier alone, then the encoder with features drawn to `centroids`.

    centroids: classes x dim, or None in the first round. weight: λ.
    """

    def __init__(
        self, task: Task, head_epochs: int, centroids: Tensor | None, weight: float
    ) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.head_epochs, self.centroids, self.weight = head_epochs, centroids, weight

    def learns(self, name: str, epoch: int) -> bool:
        return name.startswith(HEAD + ".") == (epoch < self.head_epochs)

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        labels = self.labels[batch.index]
        x = to_float(self.portion.images[batch.index])  # models x batch x C x H x W
        h = self.model.features(state, x, training=True)  # models x batch x dim
        each = cross_entropies(self.model.logits(state, h, training=True), labels)  # models x batch
        if self.centroids is None or batch.epoch < self.head_epochs:
            return batch.mean(each)
        away = F.mse_loss(h, self.centroids[labels], reduction="none").mean(2)  # models x batch
        return batch.mean(each + self.weight * away)


@dataclass
class Collaboration:
    """encoder: one model. heads: one for each client. centroids: classes x dim."""

    encoder: State
    heads: State
    centroids: Tensor | None = None


@dataclass(frozen=True)
class FedPAC(FederatedMethod):
    """head_epochs: passes for the classifier before those for the encoder. align_weight: λ."""

    head_epochs: int = 1
    align_weight: float = 1.0

    def start(self, task: Task, attempt: int) -> Server:
        model = task.new_model("model", attempt, 0)
        heads = repeat(part(model, HEAD), task.federation.n_clients)
        return Collaboration(part(model, ENCODER), heads)

    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        shared = {"encoder": server.encoder}
        if server.centroids is not None:
            shared["centroids"] = {"centroids": server.centroids.unsqueeze(0)}
        return Message(shared=shared, each={"classifier": take(server.heads, clients)})

    def local_options(self, t: int) -> LocalOptions:
        options = super().local_options(t)
        return replace(options, epochs=self.head_epochs + options.epochs)

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        encoder = download.shared["encoder"]
        own_of = task.images_of(clients)
        sent = download.shared.get("centroids")
        centroids = None if sent is None else sent["centroids"][0]
        loss = Aligned(task, self.head_epochs, centroids, self.align_weight)
        start = {**repeat(encoder, len(clients)), **download.each["classifier"]}
        trained = self.train(task, loss, start, t, clients).state
        own = part(trained, ENCODER)
        before = _statistics(task, encoder, torch.zeros_like(clients), own_of)
        after = _statistics(task, own, torch.arange(len(clients)), own_of)
        return Message(
            each={
                "encoder": own,
                "classifier": part(trained, HEAD),
                "statistics": before,
                "centroids": {"weighted": after["means"]},
            }
        )

    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        statistics = upload.each["statistics"]
        weights = combination_weights(statistics["variance"], statistics["means"]).cpu()
        heads = {name: value.clone() for name, value in server.heads.items()}
        put(heads, clients, weighted_average(upload.each["classifier"], weights))
        return Collaboration(
            self.size_average(task, upload.each["encoder"], clients),
            heads,
            self._centroids(task, server, upload.each["centroids"]["weighted"], clients),
        )

    def _centroids(
        self, task: Task, server: Collaboration, weighted: Tensor, clients: Tensor
    ) -> Tensor:
        """Means of classes over all participants' images; the last one of a class without any."""
        sizes = task.federation.sizes()[clients].to(weighted)
        images = task.federation.class_counts()[clients].sum(0).to(weighted)
        total = torch.einsum("m,mcd->cd", sizes, weighted)
        mean = total / images.clamp(min=1).unsqueeze(1)
        if server.centroids is None:
            return mean
        return torch.where(images.unsqueeze(1) > 0, mean, server.centroids)

    def global_model(self, task: Task, server: Server) -> State:
        everyone = torch.arange(task.federation.n_clients)
        return {**server.encoder, **self.size_average(task, server.heads, everyone)}

    def encoder(self, server: Collaboration) -> State:
        return server.encoder


def _statistics(task: Task, encoders: State, choice: Tensor, own_of: Sequence[Tensor]) -> State:
    """Per client its V and P(y) E[h | y], in single precision as they are sent."""
    federation = task.federation
    labels = federation.train.labels
    assert labels is not None
    encoded = features(task.model, encoders, choice, federation.train, own_of)
    found = [
        feature_statistics(h, labels[own], federation.n_classes)
        for h, own in zip(encoded, own_of, strict=True)
    ]
    return {
        "variance": torch.stack([variance for variance, _ in found]).float(),
        "means": torch.stack([means for _, means in found]).float(),
    }
