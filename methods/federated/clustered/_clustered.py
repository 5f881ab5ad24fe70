"""Clustered federated learning by model selection: what IFCA and CP-CFL have in common.

Papers: Ghosh et al. 2020 (IFCA, model averaging); CP-CFL Eqs. 5 and 6, Algorithm 2. The server
sends a pool of N models; each client trains one and returns it with its number. For models of size
S, T rounds cost (N + 1) S T (CP-CFL Eq. 15), and an integer a round.
Unstated: a model that no participant chose stays as it is. A client is evaluated with the model
that it chose last; one that never took part, with the model of lowest loss. The code of Ghosh et
al. (jichan3751/ifca, `mnist/train_cluster_mnist.py`) lets clients choose again among the averaged
models: `choose_again`. Its models share no weights; `common_encoder` gives them one encoder.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...metrics import Evaluation
from ...metrics.cluster_agreement import clustering_accuracy, merged_groups
from ...nn.classifier import ENCODER
from ...state import State, concatenate, n_models, part, pool_average, repeat
from ...training.evaluate import client_losses
from ..base import Memory, Message, Round, Server, Task
from ..with_labels import WithLabels


@dataclass(frozen=True)
class Clusters:
    """pool: N models. `choice`: int64, each client's last one, -1 before its first round."""

    pool: State
    choice: Tensor

    @property
    def collapsed(self) -> bool:
        """Whether all that have taken part chose one model, of several clients and models."""
        seen = self.choice[self.choice >= 0]
        several = n_models(self.pool) > 1 and len(seen) > 1
        return several and bool((seen == seen[0]).all())


@dataclass(frozen=True)
class Clustered(WithLabels):
    """n_clusters: N, models in the pool. `choose_again`: whether clients take the model of lowest
    loss after the average before they are evaluated, and not the one that they chose to train.
    `common_encoder`: whether all models start from one encoder, with heads of their own."""

    n_clusters: int = 3
    choose_again: bool = False
    common_encoder: bool = False

    @abstractmethod
    def choose(self, now: Round, pool: State) -> Tensor:
        """The model that each participant trains, int64."""

    def encoder_epochs_in(self, t: int) -> int | range | None:
        """Epochs of round `t` that train the encoder: the first so many, a range, or all (None)."""
        return None

    def start(self, task: Task, attempt: int) -> Server:
        models = [task.new_model("model", attempt, n) for n in range(self.n_clusters)]
        pool = concatenate(models)
        if self.common_encoder:
            pool |= repeat(part(models[0], ENCODER), self.n_clusters)
        return Clusters(pool, torch.full((task.federation.n_clients,), -1))

    def broadcast(self, now: Round, server: Server) -> Message:
        return Message(shared={"weights": server.pool})

    def received(self, download: Message) -> State:
        """The pool that a client puts together from what it was sent."""
        return download.shared["weights"]

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        pool = self.received(download)
        choice = self.choose(now, pool)
        trained = self.train_supervised(now, pool, choice, self.encoder_epochs_in(now.t))
        return Message(
            per_client={"weights": trained, "choice": {"choice": choice}},
            log={"choice": choice.to(torch.int16)},
        )

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        chosen = upload.per_client["choice"]["choice"]
        pool = self.merge(server.pool, upload.per_client["weights"], chosen, now.sizes())
        choice = server.choice.clone()
        choice[now.clients] = chosen
        return Clusters(pool, choice)

    def merge(self, pool: State, trained: State, choice: Tensor, sizes: Tensor) -> State:
        """The pool: means of what was trained from each, by numbers of images (CP-CFL Eq. 6)."""
        return pool_average(pool, trained, F.one_hot(choice, n_models(pool)).T * sizes)

    def personal_models(self, task: Task, server: Server, memory: Memory) -> tuple[State, Tensor]:
        choice = server.choice.clone()
        unseen = ((choice < 0) | self.choose_again).nonzero().flatten()
        if len(unseen):
            choice[unseen] = select(task, server.pool, unseen)
        return server.pool, choice

    def evaluate(self, task: Task, server: Server, memory: Memory, final: bool) -> Evaluation:
        evaluation = super().evaluate(task, server, memory, final)
        if bool((server.choice < 0).any()):
            return evaluation
        found = {
            "cluster_recovery": clustering_accuracy(server.choice, task.federation.group),
            "merged_groups": merged_groups(server.choice, task.federation.group),
        }
        return replace(evaluation, metrics={**evaluation.metrics, **found})

    def counts(self, server: Server) -> Mapping[str, float]:
        return {"clustering_failed": float(server.collapsed)}


def select(task: Task, pool: State, clients: Tensor) -> Tensor:
    """The model of lowest loss on each client's training images (CP-CFL Eq. 5), int64."""
    return client_losses(task.model, pool, task.federation, clients).argmin(dim=1)
