"""What a federated method is: small steps that the loop in `methods.federated.loop` calls.

* `server = start(task, attempt)`. Weights, and whatever else the server keeps.
* In every round, where `now = Round(task, t, participants)` says who takes part:
    * `download = broadcast(now, server)`. What they receive.
    * `upload = local_update(now, download, memory)`. What they send, all in one call.
    * `server = aggregate(now, server, upload)`.
    * `evaluate(personal_models(server))`. Each client on its own test images.
* `server = finish(server)`. Once, after the last round.

All that travels is in a `Message`, so the loop counts what is really exchanged. What a client keeps
between rounds is in the method's `ClientMemory`, which `broadcast` and `aggregate` never see. A
method does not know how many clients are trained at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch
from torch import Tensor

from ..data.federation import Federation, ImageSet
from ..later import later
from ..metrics import Evaluation
from ..nn.classifier import Classifier
from ..optim.optimizers import OptimizerName
from ..seeds import Seeds
from ..state import State, n_bytes, placed, weighted_average
from ..training.client_views import ClientViews
from ..training.evaluate import probabilities
from ..training.local_loss import LocalLoss, LocalOptions, TrainedClients
from ..training.steps import ENGINES_CHOICE, Grouping, train_steps
from ._signatures import check_signatures
from .client_memory import ClientMemory

if TYPE_CHECKING:
    # Types alone, so that a run without views does not depend on how they are drawn.
    from ..data.views.augment import Augmentation
    from ..objectives.base import Objective


class InPieces(Protocol):
    """A payload that nobody holds whole."""

    @property
    def n_bytes(self) -> int:
        """Bytes that all of it takes."""


@dataclass(frozen=True)
class Message:
    """What is sent in one direction in one round.

    `shared`: Sent whole to (or from) every participant. `per_client`: One slice for each
    participant, stacked; unequal amounts follow in order. `log`: Facts for the record (not sent),
    stacked over participants, integers or floats. `streamed`: Bytes that all participants send in
    pieces within the round (smashed data). `in_pieces`: Too large to be held; the receiver reads of
    it what it needs (representations). `resident`: Not sent: the server's half of a network that it
    trains with the clients."""

    shared: Mapping[str, State] = field(default_factory=dict)
    per_client: Mapping[str, State] = field(default_factory=dict)
    log: Mapping[str, Tensor] = field(default_factory=dict)
    streamed: Mapping[str, int] = field(default_factory=dict)
    in_pieces: Mapping[str, InPieces] = field(default_factory=dict)
    resident: Mapping[str, State] = field(default_factory=dict)

    def bytes_by_name(self, participants: int) -> dict[str, int]:
        """Bytes that this message costs, by payload."""
        shared = {name: participants * n_bytes(state) for name, state in self.shared.items()}
        each = {name: n_bytes(state) for name, state in self.per_client.items()}
        pieces = {name: payload.n_bytes for name, payload in self.in_pieces.items()}
        return {**shared, **each, **self.streamed, **pieces}

    def bytes_exchanged(self, participants: int) -> int:
        return sum(self.bytes_by_name(participants).values())


@dataclass(frozen=True)
class Task:
    """What a method works on: data, architecture, pre-trained weights, random streams.

    `federation`: The clients' images; those of the test have no labels. `encoder`: Pre-trained
    encoder weights (one model), or None for a random start. `grouping`: Which clients share steps;
    by default the engine chooses. `objective`: For methods that train without labels, else None.
    `augmentation`: For methods that draw views, else None. `source`: Loads the images on which
    `encoder` was trained, if it was pre-trained centrally. `at_width`: Makes the model with a share
    of the channels; see `narrowed_model`."""

    federation: Federation
    model: Classifier
    seeds: Seeds
    device: torch.device
    encoder: State | None = None
    grouping: Grouping = ENGINES_CHOICE
    objective: Objective | None = None
    augmentation: Augmentation | None = None
    source: Callable[[], ImageSet] | None = None
    at_width: Callable[[float], Classifier] | None = None

    def new_model(self, *names: str | int) -> State:
        """One model from the stream `names`: random weights, with the pre-trained encoder if any.
        The same names give the same weights to every method of the trial."""
        state = self.model.new(self.seeds.generator("weights", *names))
        if self.encoder is not None:
            state.update(self.encoder)
        return placed(state, self.device)

    def narrowed_model(self, share: float) -> Classifier:
        """The model with `share` of every layer's channels; `ValueError` if none can be made."""
        if share == 1.0:
            return self.model
        if self.at_width is None:
            raise ValueError("this task makes no models of other widths")
        return _narrowed(self.at_width, share)

    @property
    def everyone(self) -> Tensor:
        """All clients, novel ones too, int64."""
        return torch.arange(self.federation.n_clients)


@lru_cache(maxsize=16)
def _narrowed(at_width: Callable[[float], Classifier], share: float) -> Classifier:
    return at_width(share)


@dataclass(frozen=True)
class Round:
    """What the steps of one round are given: its number `t`, from 0, and the `clients`, int64."""

    task: Task
    t: int
    clients: Tensor

    def __len__(self) -> int:
        return len(self.clients)

    def of(self, clients: Tensor) -> Round:
        return replace(self, clients=clients)

    def images(self) -> list[Tensor]:
        """Which training images each participant holds, an int64 index each."""
        return [self.task.federation.train_of[client] for client in self.clients.tolist()]

    def sizes(self) -> Tensor:
        """Each participant's number of training images, (clients,), float64."""
        return self.task.federation.sizes()[self.clients].double()

    def stream(self, name: str) -> torch.Generator:
        """The random stream of that name of this round."""
        return self.task.seeds.generator(name, self.t)

    def streams(self, name: str) -> list[torch.Generator]:
        """Each participant's own random stream of that name of this round."""
        return [self.task.seeds.generator(name, self.t, c) for c in self.clients.tolist()]

    def views(self) -> ClientViews:
        """Draws random views of the participants' images, by the task's augmentation."""
        task = self.task
        assert task.augmentation is not None
        return ClientViews(
            task.augmentation, task.federation.train, task.seeds, self.t, self.clients
        )

    def average(self, trained: State) -> State:
        """One model: the mean of the participants', by their numbers of training images."""
        return weighted_average(trained, self.sizes().unsqueeze(0))


Server = Any
"""What a method's server keeps between rounds; any object that the method defines."""

Memory = Any
"""What clients keep between rounds; a `ClientMemory`, to which a method may add fields."""


@dataclass(frozen=True)
class FederatedMethod(ABC):
    """Options shared by every method; the fields of a subclass are its options in a spec.

    Unless a method says otherwise, its server is one model, which every participant receives, and
    which becomes the average of theirs by numbers of training images. `rounds`: T. `local_epochs`:
    passes over a client's data per round, with a fresh optimiser each. `schedule`: with `cosine`
    the rate falls to zero over all rounds in half a period. `participation`: share of the clients
    that take part in a round. `rate_falls`: shares of all rounds after which the rate falls to a
    tenth. `rate_decay`: what it is multiplied with after each round."""

    rounds: int = 100
    local_epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 1e-3
    optimizer: OptimizerName = "adam"
    sgd_momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    participation: float = 1.0
    rate_falls: tuple[float, ...] = later(())
    rate_decay: float = later(1.0)

    def __init_subclass__(cls) -> None:
        """Raises `TypeError` where a step does not take what it is called with."""
        super().__init_subclass__()
        check_signatures(cls)

    @property
    def draws_views(self) -> bool:
        """Whether clients train on augmented views, so that the augmentation is part of a run."""
        return False

    def objective_name(self) -> str | None:
        """The registered objective that clients minimise; None where it is the method's own."""
        return None

    def encoder_options(self) -> Mapping[str, Any]:
        """Options of the encoder that the method decides (which layers are the clients', ...)."""
        return {}

    @property
    def exchanges(self) -> int:
        """Rounds of the loop: T, and more where something is exchanged after the last one."""
        return self.rounds

    def local_options(self, t: int) -> LocalOptions:
        """How clients train in round `t`, from 0; a cosine rate is lr (1 + cos(π t / T)) / 2."""
        share = (1 + math.cos(math.pi * t / self.rounds)) / 2 if self.schedule == "cosine" else 1.0
        share *= 0.1 ** sum(t >= fall * self.rounds for fall in self.rate_falls)
        share *= self.rate_decay**t
        return LocalOptions(
            epochs=self.local_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate * share,
            optimizer=self.optimizer,
            sgd_momentum=self.sgd_momentum,
            weight_decay=self.weight_decay,
        )

    def prepare(self, federation: Federation) -> Federation:
        """The federation that is trained and evaluated on (centralised training pools it)."""
        return federation

    def start(self, task: Task, attempt: int) -> Server:
        """The server before the first round; `attempt` counts restarts from 0."""
        return task.new_model("model", attempt, 0)

    def new_memory(self, task: Task) -> ClientMemory:
        """What clients keep before the first round."""
        return ClientMemory()

    def participants(self, task: Task, t: int) -> Tensor:
        """The clients of round `t`, int64, rising: a random share, the same in every method.
        Clients that a method never returns are still evaluated; novel ones are never returned."""
        n_clients = task.federation.n_training
        if self.participation >= 1.0:
            return torch.arange(n_clients)
        drawn = torch.randperm(n_clients, generator=task.seeds.generator("participants", t))
        return drawn[: max(1, round(self.participation * n_clients))].sort().values

    def broadcast(self, now: Round, server: Server) -> Message:
        """What the participants receive."""
        return Message(shared={"weights": server})

    @abstractmethod
    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        """What the participants send after their local work; may change their part of `memory`."""

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        """The server after the round."""
        return now.average(upload.per_client["weights"])

    def failed(self, now: Round, server: Server, attempt: int) -> bool:
        """Whether training must start again with other random weights (IFCA's restarts).
        Asked after every round. A method that gives up restarting returns False from then on."""
        return False

    def finish(self, task: Task, server: Server, memory: Memory) -> Server:
        """The server after the last round, before the last evaluation (personalisation, ...)."""
        return server

    def global_model(self, task: Task, server: State) -> State:
        """The one model that everybody is evaluated with, for methods that end in one."""
        return server

    def personal_models(self, task: Task, server: Server, memory: Memory) -> tuple[State, Tensor]:
        """A pool of models, and the number in it that each client is evaluated with, int64."""
        everyone = torch.zeros(task.federation.n_clients, dtype=torch.int64)
        return self.global_model(task, server), everyone

    def evaluate(self, task: Task, server: Server, memory: Memory, final: bool) -> Evaluation:
        """What is measured without labels, and what the loop scores: all personal predictions."""
        return Evaluation({}, predicted=self.predicted(task, server, memory))

    def predicted(self, task: Task, server: Server, memory: Memory) -> list[Tensor]:
        """What every client's personal model gives for its test images, each images x classes."""
        pool, choice = self.personal_models(task, server, memory)
        test, test_of = task.federation.test, task.federation.test_of
        return probabilities(task.model, pool, choice, test, test_of)

    def encoder(self, server: Server) -> State | None:
        """One model that later runs can start from (`encoder.*`, what protocols read), or None."""
        return None

    def counts(self, server: Server) -> Mapping[str, float]:
        """Facts about the finished training for the record."""
        return {}

    def train(
        self,
        now: Round,
        local_loss: LocalLoss,
        start: State,
        client_state: State | None = None,
        options: LocalOptions | None = None,
    ) -> TrainedClients:
        """The participants' models after they have minimised `local_loss`. `start`: one model for
        each. `client_state`: what else `local_loss` needs of each. Both are stacked over the
        participants and left as they are. `options`: else `local_options(t)`."""
        return train_steps(
            local_loss,
            start,
            client_state or {},
            now.images(),
            options or self.local_options(now.t),
            now.task.seeds,
            now.t,
            now.clients,
            now.task.grouping,
        )


@dataclass(frozen=True)
class NoExchange(FederatedMethod):
    """A method whose server stays what it was before the first round; no bytes are counted."""

    def broadcast(self, now: Round, server: Server) -> Message:
        return Message()

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        return server


ProgressCallback = Callable[[int, int], None]
"""Called with (rounds done, rounds in all); rounds done falls to 0 when training starts again."""


def all_rounds(
    method: FederatedMethod, task: Task, memory: Memory, server: Server
) -> Iterator[tuple[Round, Server, Message, Message]]:
    """Rounds without restarts: each with the server before it, and what is received and sent."""
    for t in range(method.exchanges):
        now = Round(task, t, method.participants(task, t))
        download = method.broadcast(now, server)
        upload = method.local_update(now, download, memory)
        yield now, server, download, upload
        server = method.aggregate(now, server, upload)
