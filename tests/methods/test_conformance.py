from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from fedrepro.methods import registry
from fedrepro.methods.federated.base import FederatedMethod, Message, Round, Server, Task
from fedrepro.methods.federated.client_memory import ClientMemory
from fedrepro.methods.federated.personalized._personalized import Personalized
from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.federated.supervised.fedprox import Proximal
from fedrepro.methods.state import State, repeat
from fedrepro.methods.training.local import Supervised
from fedrepro.methods.training.local_loss import Batch
from fedrepro.testing import NonConformingError, check_method

FEDAVG = registry.find("federated", "fedavg")
SAME_AS: Mapping[str, tuple[dict[str, Any], type[FederatedMethod]]] = {
    "fedprox": ({"proximal_weight": 0.0}, FEDAVG),
    "moon": ({"contrast_weight": 0.0}, FEDAVG),
}
"""With which options a method is another one."""


@pytest.mark.parametrize("name", registry.names("federated"))
def test_every_method_conforms(name: str) -> None:
    check_method(registry.find("federated", name), SAME_AS.get(name))


class GlobalNoise(FedAvg):
    def broadcast(self, now: Round, server: Server) -> Message:
        return Message(shared={"weights": {k: v + torch.rand(1) for k, v in server.items()}})


class OneSeed(FedAvg):
    def start(self, task: Task, attempt: int) -> Server:
        return {k: torch.zeros_like(v) for k, v in super().start(task, attempt).items()}

    def participants(self, task: Task, t: int) -> Tensor:
        return torch.arange(1)

    def local_update(self, now: Round, download: Message, memory: ClientMemory) -> Message:
        return Message(per_client={"weights": download.shared["weights"]})


class FromTheOthers(Supervised):
    """The loss of a model has a part of its neighbours'."""

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        own = super().loss(state, client_state, batch)
        return own * (1 + own.detach().sum())


class SeesTheOthers(FedAvg):
    own_loss: ClassVar[type[Supervised]] = FromTheOthers

    def local_update(self, now: Round, download: Message, memory: ClientMemory) -> Message:
        loss = self.own_loss(now.task.model, now.task.federation.train, None)
        start = repeat(download.shared["weights"], len(now))
        return Message(per_client={"weights": self.train(now, loss, start).state})


class OverPadding(Supervised):
    """Padded images have a weight in the mean."""

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        return super().loss(state, client_state, replace(batch, share=None))


class WeighsPadding(SeesTheOthers):
    own_loss = OverPadding


class AlmostOverPadding(Supervised):
    """A hundred-thousandth of a padded image counts: less than rounding in single precision."""

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        share = None if batch.share is None else batch.share + 1e-5 * (batch.share == 0)
        return super().loss(state, client_state, replace(batch, share=share))


class WeighsPaddingALittle(SeesTheOthers):
    own_loss = AlmostOverPadding


@dataclass
class Forgotten(ClientMemory):
    rounds: list[int] = field(default_factory=list)


class KeepsElsewhere(FedAvg):
    """What outlives a round lies on the memory's class, which no checkpoint holds."""

    def new_memory(self, task: Task) -> ClientMemory:
        Forgotten.total = 1.0  # type: ignore[attr-defined]
        return ClientMemory()

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        Forgotten.total *= 0.9  # type: ignore[attr-defined]
        new = super().aggregate(now, server, upload)
        return {k: v * Forgotten.total for k, v in new.items()}  # type: ignore[attr-defined]


class InPlace(FedAvg):
    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        for name, value in super().aggregate(now, server, upload).items():
            server[name].copy_(value)
        return server


class TrainsByEvaluating(FedAvg):
    def personal_models(
        self, task: Task, server: Server, memory: ClientMemory
    ) -> tuple[State, Tensor]:
        for value in server.values():
            value.mul_(0.9)
        return super().personal_models(task, server, memory)


class LogsTooLittle(FedAvg):
    def local_update(self, now: Round, download: Message, memory: ClientMemory) -> Message:
        sent = super().local_update(now, download, memory)
        return Message(
            per_client={n: {k: v[:1] for k, v in s.items()} for n, s in sent.per_client.items()}
        )

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        return upload.per_client["weights"]


class NamesNoModel(FedAvg):
    def personal_models(
        self, task: Task, server: Server, memory: ClientMemory
    ) -> tuple[State, Tensor]:
        return server, torch.ones(task.federation.n_clients, dtype=torch.int64)

    def predicted(self, task: Task, server: Server, memory: ClientMemory) -> list[Tensor]:
        return super().predicted(task, repeat(server, 2), memory)


class ClaimsViews(FedAvg):
    draws_views = True  # type: ignore[assignment]


class IgnoresAugments(FedAvg):
    def local_update(self, now: Round, download: Message, memory: ClientMemory) -> Message:
        loss = Proximal(now.task, download.shared["weights"], 0.0)
        start = repeat(download.shared["weights"], len(now))
        return Message(per_client={"weights": FederatedMethod.train(self, now, loss, start).state})


PLANTED: list[tuple[type[FederatedMethod], str]] = [
    (GlobalNoise, "one seed gives two results: "),
    (OneSeed, "two seeds give one result"),
    (SeesTheOthers, "what clients send depends on who trains with them: "),
    (WeighsPadding, "what clients send depends on who trains with them: "),
    (WeighsPaddingALittle, "what clients send depends on who trains with them: "),
    (KeepsElsewhere, "a training that was saved and goes on ends otherwise: "),
    (InPlace, "a step of the server changes in place what it is given: "),
    (TrainsByEvaluating, "the result depends on how often it is evaluated: "),
    (LogsTooLittle, " has 1 entries for "),
    (NamesNoModel, "`personal_models` names a model that its pool does not have"),
    (ClaimsViews, "`draws_views` is true, and another augmentation changes nothing"),
    (IgnoresAugments, "`augments` changes nothing"),
]


@pytest.mark.parametrize(("planted", "says"), PLANTED, ids=lambda one: getattr(one, "__name__", ""))
def test_a_planted_error_is_named(planted: type[FederatedMethod], says: str) -> None:
    with pytest.raises(NonConformingError) as failed:
        check_method(planted)
    assert str(failed.value).startswith(f"{planted.__name__} fails:")
    assert says in str(failed.value)


def test_a_weight_that_does_something_is_not_nothing() -> None:
    with pytest.raises(NonConformingError, match=r"with .*1\.0.* it is not FedAvg: "):
        check_method(registry.find("federated", "fedprox"), ({"proximal_weight": 1.0}, FEDAVG))


def test_a_method_that_raises_is_told_by_the_check_that_it_stopped() -> None:
    class Raises(FedAvg):
        def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
            raise RuntimeError("no server")

    with pytest.raises(NonConformingError, match="training stops by RuntimeError: no server"):
        check_method(Raises)


OLD: dict[str, tuple[type[FederatedMethod], Any]] = {
    "broadcast": (FedAvg, lambda self, task, server, t, clients: None),
    "local_update": (FedAvg, lambda self, task, download, t, clients, memory: None),
    "aggregate": (FedAvg, lambda self, task, server, upload, t, clients: None),
    "failed": (FedAvg, lambda self, task, server, t, attempt: None),
    "train": (FedAvg, lambda self, task, local_loss, start, t, clients: None),
    "begin": (SelfSupervised, lambda self, task, download, t, clients, memory: None),
    "local_loss": (SelfSupervised, lambda self, task, t, clients: None),
    "adapt": (Personalized, lambda self, server: None),
}


@pytest.mark.parametrize("name", OLD)
def test_a_step_with_other_arguments_is_refused_when_its_class_is_made(name: str) -> None:
    base, step = OLD[name]
    with pytest.raises(TypeError) as refused:
        type("Mine", (base,), {name: step})
    said = str(refused.value)
    assert f"{__file__}:{step.__code__.co_firstlineno}: Mine.{name} takes (self, " in said
    assert f"write `def {name}(self, " in said


def test_the_refusal_says_what_to_write() -> None:
    with pytest.raises(TypeError) as refused:
        type("Mine", (FedAvg,), {"aggregate": OLD["aggregate"][1]})
    assert (
        "Mine.aggregate takes (self, task, server, upload, t, clients) but is called with "
        "(self, now, server, upload): write `def aggregate(self, now: Round, server: Server, "
        "upload: Message) -> Server`; the round `now` holds now.task, now.t and now.clients"
    ) in str(refused.value)


def test_other_names_and_further_options_are_allowed() -> None:
    class Mine(FedAvg):
        def aggregate(self, r: Any, mine: Any, theirs: Any, share: float = 0.5) -> Any:
            return mine

    assert Mine().aggregate(None, 1, None) == 1
