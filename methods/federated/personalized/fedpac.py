"""FedPAC: features aligned with global class centroids, classifiers combined for each client.

Paper: Xu et al. 2023; as MFCL's baseline, Table 4. A client trains its classifier with the received
encoder frozen, then the encoder with its classifier frozen. The encoder's loss is cross-entropy
plus λ times the mean squared difference between features and the global centroids of their classes.
The server averages encoders by numbers of images, centroids by images of the class, and gives each
client a combination of all classifiers.
The combination (their Section 4.3): for client i the weights α on the simplex minimise the variance
plus the squared bias of the combined classifier. The two terms are
`Σ_j α_j² V_j + Σ_jl α_j α_l Σ_y (h_i,y - h_j,y)·(h_i,y - h_l,y)`.
Here h_j,y is P_j(y) times the mean feature of class y, and V_j the variance of client j's estimate.
Deviations: one learning rate and one optimiser for both stages.
Unstated in MFCL: λ (1, the default of Xu et al.), and which model is tested on the balanced test
set. It is the averaged encoder with the classifiers averaged by size, a single global model as for
the other supervised methods, not the personal ones. The statistics that the server needs come from
the received encoder, so that they can be compared.
Unstated: the solver (scipy's non-negative least squares); weights below 0.001 are then set to 0.
Evidence: `tests/methods/test_fedpac.py` (every set of clients tried, a case by hand).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from ...nn.classifier import ENCODER, HEAD
from ...state import State, part, put, repeat, take, weighted_average
from ...training.evaluate import features
from ...training.local import Supervised, cross_entropies
from ...training.local_loss import Batch, LocalOptions
from ...transfer import all_to
from ..base import Memory, Message, Round, Server, Task
from ..with_labels import WithLabels

SMALLEST = 1e-3


class Aligned(Supervised):
    """First the classifier alone, then the encoder with features drawn to `centroids`. `centroids`:
    classes x dim, or None in the first round. `weight`: λ."""

    def __init__(
        self, task: Task, head_epochs: int, centroids: Tensor | None, weight: float
    ) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.head_epochs, self.centroids, self.weight = head_epochs, centroids, weight

    def learns(self, name: str, epoch: int) -> bool:
        return name.startswith(HEAD + ".") == (epoch < self.head_epochs)

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        labels = self.labels[batch.index]
        x = self.images(batch)  # models x batch x C x H x W
        h = self.model.features(state, x, training=True)  # models x batch x dim
        each = cross_entropies(self.model.logits(state, h, training=True), labels)  # models x batch
        if self.centroids is None or batch.epoch < self.head_epochs:
            return batch.mean(each)
        away = F.mse_loss(h, self.centroids[labels], reduction="none").mean(2)  # models x batch
        return batch.mean(each + self.weight * away)


@dataclass
class Collaboration:
    """encoder: one model. `heads`: one for each client. `centroids`: classes x dim."""

    encoder: State
    heads: State
    centroids: Tensor | None = None


@dataclass(frozen=True)
class FedPAC(WithLabels):
    """head_epochs: passes for the classifier before those for the encoder. `align_weight`: λ."""

    head_epochs: int = 1
    align_weight: float = 1.0

    def start(self, task: Task, attempt: int) -> Server:
        model = task.new_model("model", attempt, 0)
        heads = repeat(part(model, HEAD), task.federation.n_clients)
        return Collaboration(part(model, ENCODER), heads)

    def broadcast(self, now: Round, server: Server) -> Message:
        shared = {"encoder": server.encoder}
        if server.centroids is not None:
            shared["centroids"] = {"centroids": server.centroids.unsqueeze(0)}
        return Message(shared=shared, per_client={"classifier": take(server.heads, now.clients)})

    def local_options(self, t: int) -> LocalOptions:
        options = super().local_options(t)
        return replace(options, epochs=self.head_epochs + options.epochs)

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        encoder = download.shared["encoder"]
        own_of = now.images()
        sent = download.shared.get("centroids")
        centroids = None if sent is None else sent["centroids"][0]
        loss = Aligned(now.task, self.head_epochs, centroids, self.align_weight)
        start = {**repeat(encoder, len(now)), **download.per_client["classifier"]}
        trained = self.train(now, loss, start).state
        own = part(trained, ENCODER)
        before = _statistics(now.task, encoder, torch.zeros_like(now.clients), own_of)
        after = _statistics(now.task, own, torch.arange(len(now)), own_of)
        return Message(
            per_client={
                "encoder": own,
                "classifier": part(trained, HEAD),
                "statistics": before,
                "centroids": {"weighted": after["means"]},
            }
        )

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        statistics = upload.per_client["statistics"]
        weights = combination_weights(statistics["variance"], statistics["means"]).cpu()
        heads = {name: value.clone() for name, value in server.heads.items()}
        put(heads, now.clients, weighted_average(upload.per_client["classifier"], weights))
        return Collaboration(
            now.average(upload.per_client["encoder"]),
            heads,
            self._centroids(now, server, upload.per_client["centroids"]["weighted"]),
        )

    def _centroids(self, now: Round, server: Collaboration, weighted: Tensor) -> Tensor:
        """Means of classes over all participants' images; the last one of a class without any."""
        images = now.task.federation.class_counts()[now.clients].sum(0).to(weighted)
        total = torch.einsum("m,mcd->cd", now.sizes().to(weighted), weighted)
        mean = total / images.clamp(min=1).unsqueeze(1)
        if server.centroids is None:
            return mean
        return torch.where(images.unsqueeze(1) > 0, mean, server.centroids)

    def global_model(self, task: Task, server: Server) -> State:
        everyone = Round(task, self.rounds, task.everyone)
        return {**server.encoder, **everyone.average(server.heads)}

    def encoder(self, server: Collaboration) -> State:
        return server.encoder


def _statistics(task: Task, encoders: State, choice: Tensor, own_of: Sequence[Tensor]) -> State:
    federation = task.federation
    labels = federation.train.labels
    assert labels is not None
    encoded = features(task.model, encoders, choice, federation.train, own_of)
    # Which classes a client has is read for all clients at once.
    held = torch.split(labels[torch.cat(list(own_of))].cpu(), [len(own) for own in own_of])
    present = all_to(labels.device, [torch.unique(own) for own in held])
    found = [
        feature_statistics(h, labels[own], federation.n_classes, classes)
        for h, own, classes in zip(encoded, own_of, present, strict=True)
    ]
    return {
        "variance": torch.stack([variance for variance, _ in found]).float(),
        "means": torch.stack([means for _, means in found]).float(),
    }


def feature_statistics(
    h: Tensor, labels: Tensor, n_classes: int, present: Tensor
) -> tuple[Tensor, Tensor]:
    """V (a number) and P(y) E[h | y] (classes x dim) of one client's features, n x dim, float64.
    `present`: int64, the classes among `labels`, rising."""
    h, n = h.double(), len(h)
    member = F.one_hot(labels, n_classes).double()
    weighted = member.t() @ h / n
    # |P(y) E[h | y]|² is what the paper writes as P(y)² |E[h | y]|².
    spread = h.square().sum(1).mean() - weighted[present].square().sum()
    return spread / n, weighted


def combination_weights(variance: Tensor, means: Tensor) -> Tensor:
    """Row i: client i's weights of all classifiers; `means`: clients x classes x dim."""
    flat = means.double().flatten(1)  # clients x (classes dim)
    # (h_i - h_j)·(h_i - h_l) from inner products, without clients x clients x features in memory.
    inner = flat @ flat.t()  # clients x clients
    own = inner.diagonal().view(-1, 1, 1)
    bias = own - inner.unsqueeze(1) - inner.unsqueeze(2) + inner  # clients x clients x clients
    quadratic = (torch.diag(variance.double()) + bias).cpu().numpy()
    found = np.stack([simplex_minimum(q) for q in quadratic])
    weights = np.where(found > SMALLEST, found, 0.0)
    return torch.from_numpy(weights / weights.sum(axis=1, keepdims=True))


def simplex_minimum(quadratic: NDArray[np.float64]) -> NDArray[np.float64]:
    """The α (n) with α >= 0 and sum 1 that minimises α'Qα; Q: n x n, positive semidefinite.
    With x = s α and x >= 0, least squares on x'Qx + w² (Σx - 1)² have the same α for any w > 0. For
    f = α'Qα the best s leaves w² f / (f + w²), which is least where f is."""
    values, vectors = np.linalg.eigh(quadratic)
    root = np.sqrt(values.clip(min=0))[:, None] * vectors.T  # n x n, root' root = Q
    weight = np.sqrt(np.trace(quadratic) / len(quadratic)) or 1.0
    rows = np.vstack([root, np.full(len(quadratic), weight)])  # (n + 1) x n
    x, _ = nnls(rows, np.append(np.zeros(len(quadratic)), weight))
    share: NDArray[np.float64] = x / x.sum()
    return share
