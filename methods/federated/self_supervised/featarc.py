"""FeatARC: SimCLR with features held near a received model's, clients grouped by their features.

Paper: Wang et al. 2023, "Does learning from decentralized non-IID unlabeled data benefit from self
supervision?", feature alignment and clustering; as MFCL's baseline, Table 2. The server keeps
several models. A client takes the one that gives its images the features nearest to those of its
own last model (mean inner product of unit vectors). It minimises SimCLR's loss less λ times the
agreement of its features with those of the received model. Models are averaged over their clients.
Deviation: the model that most clients took last is measured, not the best one on the test set.
Unstated in MFCL: the number of models and λ (2 and 1). A client c without a model of its own takes
number c modulo their count (their code). The received one (evaluation mode) sees the first view.
Evidence: `tests/methods/test_orchestra.py`.
"""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from pydantic import PositiveInt
from torch import Tensor

from ...nn.classifier import ENCODER
from ...objectives.base import Learner
from ...state import State, concatenate, part, placed, pool_average, take
from ...training.client_views import ClientViews
from ...training.evaluate import features
from ...training.local_loss import Batch
from ...training.probing import image_bytes
from ...training.self_supervised import SelfSupervisedLoss
from ..base import Memory, Message, Round, Server, Task
from ..client_memory import ClientMemory, ClientStates
from ._self_supervised import SelfSupervised


def feature_agreement(first: Tensor, second: Tensor) -> Tensor:
    """Mean cosine over the second last dimension, ... of ... x n x dim."""
    return F.cosine_similarity(first, second, dim=-1).mean(-1)


class AlignedViews(SelfSupervisedLoss):
    """The learner's loss less λ times the agreement with the received encoders (client_state)."""

    def __init__(self, task: Task, learner: Learner, views: ClientViews, weight: float) -> None:
        super().__init__(learner, task.model.encoder, task.federation.train, views)
        self.weight = weight

    @property
    def image_bytes(self) -> int:
        return 3 * image_bytes(self.encoder, *self.portion.images.shape[1:])

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        views = self.drawn(batch)
        own = self.learner.loss(state, {}, views, None)
        with torch.no_grad():
            received = self.encoder(client_state, views[0])  # models x batch x dim
        return own - self.weight * feature_agreement(
            self.encoder(state, views[0], training=True), received
        )

    def after(self, state: State, client_state: State, batch: Batch) -> None:
        """The received encoder stays."""


@dataclass
class FeatARCMemory(ClientMemory):
    """own: the encoder that each client trained last."""

    own: ClientStates


@dataclass
class Groups:
    """models: stacked. `choice`: of the last round's participants."""

    models: State
    choice: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))


@dataclass(frozen=True)
class FeatARC(SelfSupervised):
    """n_models: models of the server. `alignment_weight`: λ."""

    n_models: PositiveInt = 2
    alignment_weight: float = 1.0

    def objective_name(self) -> str:
        return "simclr"

    def start(self, task: Task, attempt: int) -> Server:
        learner = self.learner(task)
        models = concatenate(
            learner.new(task.seeds.generator("weights", "model", attempt, i))
            for i in range(self.n_models)
        )
        return Groups(placed(models, task.device))

    def new_memory(self, task: Task) -> FeatARCMemory:
        return FeatARCMemory(ClientStates.of(task.federation.n_clients))

    def broadcast(self, now: Round, server: Server) -> Message:
        return Message(shared={"models": server.models})

    def chosen(self, now: Round, models: State, memory: FeatARCMemory) -> Tensor:
        """The model that each participant takes, int64, clients."""
        choice = now.clients % self.n_models
        known = memory.own.has_trained[now.clients].nonzero().flatten()
        if len(known) == 0 or self.n_models == 1:
            return choice
        task, of = now.task, now.of(now.clients[known])
        index_of, train = of.images(), task.federation.train
        encoders = take(memory.own.state, of.clients)
        own = features(task.model, encoders, torch.arange(len(of)), train, index_of)
        scores = []
        for number in range(self.n_models):
            same = torch.full((len(of),), number)
            theirs = features(task.model, part(models, ENCODER), same, train, index_of)
            agreeing = [feature_agreement(a, b) for a, b in zip(own, theirs, strict=True)]
            scores.append(torch.stack(agreeing).cpu())
        choice[known] = torch.stack(scores).argmax(0)
        return choice

    def local_update(self, now: Round, download: Message, memory: FeatARCMemory) -> Message:
        models = download.shared["models"]
        choice = self.chosen(now, models, memory)
        start = take(models, choice)
        loss = AlignedViews(now.task, self.learner(now.task), now.views(), self.alignment_weight)
        trained = self.train(now, loss, start, part(start, ENCODER))
        memory.own.remember(now.clients, part(trained.state, ENCODER))
        return Message(
            per_client={"weights": trained.state, "choice": {"choice": choice}},
            log={"loss": trained.loss, "choice": choice},
        )

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        choice = upload.per_client["choice"]["choice"]
        shares = F.one_hot(choice, self.n_models).double().t() * now.sizes()
        return Groups(pool_average(server.models, upload.per_client["weights"], shares), choice)

    def personal_models(self, task: Task, server: Server, memory: Memory) -> tuple[State, Tensor]:
        everyone = Round(task, self.rounds, task.everyone)
        return server.models, self.chosen(everyone, server.models, memory)

    def encoder(self, server: Groups) -> State:
        """The model that most clients took last; the first of several."""
        most = int(torch.bincount(server.choice, minlength=self.n_models).argmax())
        return take(server.models, [most])
