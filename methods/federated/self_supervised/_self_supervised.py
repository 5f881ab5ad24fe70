"""Federated self-supervised learning: clients train without labels, their weights are averaged.

What an objective keeps besides trained weights (a target network, a queue) is made again from the
received weights in every round, unless `keeps_memory` says otherwise.
A protocol measures afterwards what is learned (`methods.protocols`). So that a collapse is seen,
each round records the loss, the spread of representations and the number of occupied clusters.
Evidence: `tests/methods/test_self_supervised.py`.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import torch

from ...clusters.soft_assignment import assigns, soft_assignment
from ...data.federation import Federation
from ...metrics import Evaluation
from ...metrics.collapse import first_images, representation_std
from ...nn.classifier import Classifier
from ...objectives.base import Learner, Objective
from ...state import State, placed, repeat
from ...training.local_loss import LocalLoss, LocalOptions
from ...training.pretraining import encode
from ...training.self_supervised import SelfSupervisedLoss
from ..base import FederatedMethod, Memory, Message, Round, Server, Task
from ..client_memory import ClientMemory, ClientStates


@dataclass
class SelfSupervisedMemory(ClientMemory):
    """objective: what the objective keeps besides weights (a target network, a queue)."""

    objective: ClientStates


@dataclass(frozen=True)
class SelfSupervised(FederatedMethod):
    """Options of every method, and those of the objective. `drop_last`: whether an epoch ends
    before a last, smaller batch, as in FedEMA's code (EasyFL, `applications/fedssl/main.py`)."""

    draws_views: ClassVar[bool] = True

    drop_last: bool = False

    def local_options(self, t: int) -> LocalOptions:
        return replace(super().local_options(t), drop_last=self.drop_last)

    @property
    def keeps_memory(self) -> bool:
        """Whether a client's target network or queue outlives a round."""
        return False

    def prepare(self, federation: Federation) -> Federation:
        """Images without labels, where clients hold any, are learnt from too."""
        return federation.pooled()

    def learner(self, task: Task) -> Learner:
        """The objective bound to the task's encoder."""
        assert task.objective is not None
        return build_learner(task.objective, task.model, task.federation.n_classes)

    def local_loss(self, now: Round) -> LocalLoss:
        task, objective = now.task, now.task.objective
        assert objective is not None
        views = now.views() if objective.draws_views else None
        encoder, train = task.model.encoder, task.federation.train
        return SelfSupervisedLoss(self.learner(task), encoder, train, views, objective.n_views)

    def start(self, task: Task, attempt: int) -> Server:
        state = self.learner(task).new(task.seeds.generator("weights", "model", attempt, 0))
        state.update(task.encoder or {})
        return placed(state, task.device)

    def new_memory(self, task: Task) -> ClientMemory:
        if not self.keeps_memory:
            return ClientMemory()
        return SelfSupervisedMemory(ClientStates.of(task.federation.n_clients))

    def begin(self, now: Round, download: Message, memory: Memory) -> State:
        """The weights from which each participant trains, stacked over them."""
        return repeat(download.shared["weights"], len(now))

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        start = self.begin(now, download, memory)
        client_state = self.learner(now.task).memory(start)
        if self.keeps_memory:
            client_state = memory.objective.recall(now.clients, client_state)
        trained = self.train(now, self.local_loss(now), start, client_state)
        if self.keeps_memory:
            memory.objective.remember(now.clients, trained.client_state)
        return Message(per_client={"weights": trained.state}, log={"loss": trained.loss})

    def global_model(self, task: Task, server: Server) -> State:
        return self.encoder(server)

    @torch.no_grad()
    def evaluate(self, task: Task, server: Server, memory: Memory, final: bool) -> Evaluation:
        weights = self.global_model(task, server)
        h = encode(task.model.encoder, weights, first_images(task.federation.test))  # images x dim
        metrics = {"representation_std": representation_std(h)}
        if assigns(weights):
            choice = soft_assignment(h[None], weights)[0].argmax(dim=1)  # images
            metrics["occupied_clusters"] = float(len(set(choice.tolist())))
        return Evaluation(metrics)

    def encoder(self, server: Server) -> State:
        weights: State = server
        return weights


@dataclass(frozen=True)
class WithTarget(SelfSupervised):
    """A method of BYOL's kind. `keeps_target`: whether a client's target network outlives a round.
    Otherwise it begins as the online one."""

    keeps_target: bool = False

    @property
    def keeps_memory(self) -> bool:
        return self.keeps_target


@lru_cache(maxsize=8)
def build_learner(objective: Objective, model: Classifier, n_classes: int) -> Learner:
    """One learner for all rounds: networks are described once."""
    return objective.build(model.encoder, model.dim, n_classes)
