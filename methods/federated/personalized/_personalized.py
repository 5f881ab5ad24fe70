"""Supervised personalised federated learning: what is shared, what stays, how clients adapt.

A client's state is `{**shared, **private}`. The server averages what is shared, by numbers of
images; clients keep the rest. Methods say which is which, what steps minimise and how to adapt.
Paper: Calibre, Sections III and V-A. After training, all clients, novel ones too, download the
global model and train a personal one for 10 epochs (SGD, rate 0.05, batches of 32). Accuracies are
those of the personal models on the clients' own test images.
Unstated: clients adapt from what they keep; one that never trained, from what a client has at its
first round. One optimiser with one rate trains all of a client's weights. Nothing is measured
before the last round, because personal models exist only then.
Evidence: `tests/methods/test_personalized.py`.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from ...metrics import Evaluation
from ...nn.classifier import ENCODER, HEAD
from ...state import State, part, repeat
from ...training.local import Supervised, adapted_heads
from ...training.local_loss import LocalLoss, LocalOptions
from ..base import Memory, Message, Round, Server, Task
from ..client_memory import ClientMemory, ClientStates
from ..with_labels import WithLabels


@dataclass
class PersonalMemory(ClientMemory):
    """private: the weights that each client keeps to itself, as it trained them last. `adapted`:
    the personal models of all clients, stacked; empty before the last round."""

    private: ClientStates
    adapted: State = field(default_factory=dict)


@dataclass(frozen=True)
class Personalized(WithLabels):
    """Options of every method, and how a client adapts after the last round. `personal_epochs`:
    passes. `personal_learning_rate`: of plain SGD. `personal_batch_size`: images."""

    shared: ClassVar[tuple[str, ...]] = (ENCODER, HEAD)
    """Prefixes of the weights that the server averages."""

    personal_epochs: int = 10
    personal_learning_rate: float = 0.05
    personal_batch_size: int = 32

    def private(self, initial: State, received: State) -> State:
        """What a client begins with: from the model before the first round and what is sent now."""
        return self._not_shared(initial)

    def local_loss(self, task: Task, received: State) -> LocalLoss:
        """What clients minimise in a round that began with `received`, one model."""
        return Supervised(task.model, task.federation.train, None)

    def adapt(self, task: Task, server: Server, start: State) -> State:
        """All clients' personal models, from their last states, both stacked; here new heads."""
        options = self.personal_options()
        return adapted_heads(task.model, start, task.federation, options, task.seeds, self.rounds)

    def new_memory(self, task: Task) -> PersonalMemory:
        return PersonalMemory(ClientStates.of(task.federation.n_clients))

    def broadcast(self, now: Round, server: Server) -> Message:
        return Message(shared={"weights": self._shared(server)})

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        received = download.shared["weights"]
        start = self.begin(now, received, memory)
        trained = self.train(now, self.local_loss(now.task, received), start).state
        memory.private.remember(now.clients, self._not_shared(trained))
        return Message(per_client={"weights": self._shared(trained)})

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        return {**server, **now.average(upload.per_client["weights"])}

    def finish(self, task: Task, server: Server, memory: PersonalMemory) -> Server:
        now = Round(task, self.rounds, task.everyone)
        start = self.begin(now, self._shared(server), memory)
        memory.adapted = self.adapt(task, server, start)
        return server

    def personal_models(self, task: Task, server: Server, memory: Memory) -> tuple[State, Tensor]:
        return memory.adapted, task.everyone

    def evaluate(self, task: Task, server: Server, memory: Memory, final: bool) -> Evaluation:
        """Accuracy, its variance and SD, of clients that trained and of novel ones."""
        if not final:
            return Evaluation({})
        predicted = self.predicted(task, server, memory)
        return Evaluation({}, predicted=predicted, over_clients=True)

    def encoder(self, server: Server) -> State | None:
        return part(server, ENCODER) if ENCODER in self.shared else None

    def personal_options(self) -> LocalOptions:
        """How a client adapts: plain SGD."""
        return LocalOptions(
            epochs=self.personal_epochs,
            batch_size=self.personal_batch_size,
            learning_rate=self.personal_learning_rate,
            optimizer="sgd",
        )

    def adapted_by(self, task: Task, local_loss: LocalLoss, start: State) -> State:
        """All clients' states, stacked as `start` is, after they have minimised `local_loss`."""
        now, options = Round(task, self.rounds, task.everyone), self.personal_options()
        return self.train(now, local_loss, start, options=options, personalising=True).state

    def begin(self, now: Round, received: State, memory: PersonalMemory) -> State:
        """The participants' states, stacked: what they received, and what they keep."""
        fresh = {**received, **self.private(self.start(now.task, 0), received)}
        start = repeat(fresh, len(now))
        return {**start, **memory.private.recall(now.clients, self._not_shared(start))}

    def _shared(self, state: State) -> State:
        return {k: v for k, v in state.items() if k.partition(".")[0] in self.shared}

    def _not_shared(self, state: State) -> State:
        return {k: v for k, v in state.items() if k.partition(".")[0] not in self.shared}
