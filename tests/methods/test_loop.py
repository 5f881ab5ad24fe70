from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.federated.base import FederatedMethod, Message, Round, Server, Task
from fedrepro.methods.federated.client_memory import ClientMemory
from fedrepro.methods.federated.loop import SCORES, run
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.metrics import Evaluation, headroom, images
from fedrepro.methods.metrics.cluster_agreement import OF_CLUSTERS
from fedrepro.methods.outcome import DivergedError
from fedrepro.methods.state import State
from tests.methods.conftest import make_task


@dataclass
class Visits(ClientMemory):
    visits: Tensor


@dataclass(frozen=True)
class Counting(FederatedMethod):
    """Sends a number; fails in round `fails_in` of the first `failures` attempts."""

    failures: int = 0
    fails_in: int = 1

    def start(self, task: Task, attempt: int) -> Server:
        return float(100 * attempt)

    def new_memory(self, task: Task) -> Visits:
        return Visits(torch.zeros(task.federation.n_clients))

    def broadcast(self, now: Round, server: Server) -> Message:
        return Message(shared={"number": {"n": torch.tensor([server])}})

    def local_update(self, now: Round, download: Message, memory: Visits) -> Message:
        memory.visits[now.clients] += 1
        own = download.shared["number"]["n"].expand(len(now.clients)) + 1
        log = {"choice": now.clients.to(torch.int16), "loss": own.clone()}
        return Message(per_client={"number": {"n": own}, "extra": {"i": now.clients}}, log=log)

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        return float(upload.per_client["number"]["n"].mean())

    def failed(self, now: Round, server: Server, attempt: int) -> bool:
        return attempt < self.failures and now.t == self.fails_in

    def finish(self, task: Task, server: Server, memory: Visits) -> Server:
        return server + 1000

    def personal_models(self, task: Task, server: Server, memory: Visits) -> tuple[State, Tensor]:
        raise NotImplementedError

    def evaluate(
        self, task: Task, server: Server, memory: Visits, final: bool
    ) -> Evaluation | None:
        visits = memory.visits.clone()
        return Evaluation({"server": server}, {"visits": visits}, {"seen": float(visits.sum())})

    def counts(self, server: Server) -> dict[str, float]:
        return {"server": server}


def test_rounds_bytes_logs_and_metrics_are_recorded() -> None:
    calls: list[tuple[int, int]] = []
    outcome = run(Counting(rounds=3), make_task(), lambda *done: calls.append(done))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert outcome.metrics["server"].rounds == (1, 2, 3)
    assert outcome.metrics["server"].values == (1.0, 2.0, 1003.0)
    assert outcome.counts["server"] == 1003.0
    assert outcome.counts["seen"] == 9.0
    assert outcome.counts["downloaded_bytes"] == 3 * 3 * 4
    assert outcome.counts["uploaded_bytes"] == 3 * 3 * (4 + 8)
    assert outcome.counts["uploaded_bytes.number"] == 3 * 3 * 4
    assert outcome.counts["uploaded_bytes.extra"] == 3 * 3 * 8
    assert outcome.counts["restarts"] == outcome.counts["wasted_bytes"] == 0
    assert outcome.arrays["choice"].tolist() == [[0, 1, 2]] * 3
    assert outcome.arrays["client_visits"].tolist() == [[1] * 3, [2] * 3, [3] * 3]


def test_restarts_clear_history_and_memory_and_count_what_was_wasted() -> None:
    calls: list[int] = []
    method = Counting(rounds=3, failures=2, fails_in=1)
    outcome = run(method, make_task(), lambda done, total: calls.append(done))
    assert calls == [1, 1, 1, 2, 3]
    assert outcome.metrics["server"].rounds == (1, 2, 3)
    assert outcome.metrics["server"].values == (201.0, 202.0, 1203.0)
    assert outcome.arrays["client_visits"][-1].tolist() == [3, 3, 3]
    assert outcome.counts["restarts"] == 2
    assert outcome.counts["wasted_bytes"] == 2 * 2 * 3 * (4 + 4 + 8)
    assert outcome.counts["downloaded_bytes"] == 3 * 3 * 4


def test_absent_clients_leave_gaps() -> None:
    task = make_task(sizes=[4] * 10)
    outcome = run(Counting(rounds=4, participation=0.3), task)
    choice, loss = outcome.arrays["choice"], outcome.arrays["loss"]
    assert choice.dtype == np.int16
    assert ((choice >= 0).sum(axis=1) == 3).all()
    assert (np.isnan(loss) == (choice == -1)).all()
    assert len({tuple(row) for row in choice}) > 1
    again = run(Counting(rounds=4, participation=0.3), task)
    np.testing.assert_array_equal(choice, again.arrays["choice"])
    assert outcome.counts["uploaded_bytes.number"] == 4 * 3 * 4


@pytest.mark.parametrize(("every", "rounds"), [(1, (1, 2, 3, 4, 5)), (2, (2, 4, 5)), (0, (5,))])
def test_evaluations_follow_evaluate_every_and_never_miss_the_last(
    every: int, rounds: tuple[int, ...]
) -> None:
    outcome = run(Counting(rounds=5), make_task(), evaluate_every=every)
    assert outcome.metrics["server"].rounds == rounds
    assert len(outcome.arrays["client_visits"]) == len(rounds)
    assert len(outcome.arrays["choice"]) == 5


def spoilt(state: State) -> State:
    """With one number of the last tensor that is not finite."""
    name, value = list(state.items())[-1]
    return {**state, name: value.index_fill(-1, torch.tensor([0]), torch.nan)}


class LastAggregate(FedAvg):
    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        new = super().aggregate(now, server, upload)
        return spoilt(new) if now.t + 1 == self.rounds else new


class Finish(FedAvg):
    def finish(self, task: Task, server: Server, memory: ClientMemory) -> Server:
        return spoilt(server)


class Predicts(FedAvg):
    def predicted(self, task: Task, server: Server, memory: ClientMemory) -> list[Tensor]:
        first, *others = super().predicted(task, server, memory)
        return [first / 0, *others]


class Measures(FedAvg):
    def evaluate(self, task: Task, server: Server, memory: ClientMemory, final: bool) -> Evaluation:
        return Evaluation({"drift": float("inf") if final else 0.0})


class HandsOn(FedAvg):
    def encoder(self, server: Server) -> State:
        return spoilt(server)


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (LastAggregate, "round 2: server.head.0.bias is not finite"),
        (Finish, "round 2: server.head.0.bias is not finite"),
        (Predicts, "round 1: predicted.0 is not finite"),
        (Measures, "round 2: metrics.drift is not finite"),
        (HandsOn, "round 2: encoder.head.0.bias is not finite"),
    ],
)
def test_what_is_evaluated_or_stored_is_finite(method: type[FedAvg], told: str) -> None:
    with pytest.raises(DivergedError, match=f"^diverged at {told}$"):
        run(method(rounds=2), make_task())


@dataclass(frozen=True)
class Looking(FedAvg):
    """Notes at each step whether test images have labels."""

    seen: ClassVar[dict[str, bool]] = {}

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not callable(found) or name.startswith("_"):
            return found

        def watched(*given: Any, **named: Any) -> Any:
            for one in (*given, *named.values()):
                task = getattr(one, "task", one)
                federation = getattr(task, "federation", task)
                if hasattr(federation, "test"):
                    self.seen[name] = federation.test.labels is not None
            return found(*given, **named)

        return watched


def test_no_label_of_a_test_image_is_within_reach_of_a_method() -> None:
    outcome, plain = run(Looking(rounds=2), make_task()), run(FedAvg(rounds=2), make_task())
    steps = {"prepare", "start", "new_memory", "participants", "broadcast", "local_update"}
    steps |= {"aggregate", "failed", "finish", "evaluate", "predicted", "personal_models"}
    assert steps <= Looking.seen.keys()
    assert not any(Looking.seen.values())
    assert outcome.metrics == plain.metrics


def says(**what: dict[str, Any]) -> type[FedAvg]:
    class Says(FedAvg):
        def evaluate(self, *given: Any) -> Evaluation:
            return replace(super().evaluate(*given), **what)

    return Says


class CountsItself(FedAvg):
    def counts(self, server: Server) -> dict[str, float]:
        return {"uploaded_bytes": 5.0, "undefined_auroc": 0.0}


class OtherTest(FedAvg):
    def prepare(self, federation: Federation) -> Federation:
        return replace(federation, test=ImageSet(federation.test.images.flip(0)))


class FewerTests(FedAvg):
    def prepare(self, federation: Federation) -> Federation:
        return replace(federation, test_of=tuple(own[:1] for own in federation.test_of))


class FewerClients(FedAvg):
    def evaluate(self, task: Task, server: Server, memory: ClientMemory, final: bool) -> Evaluation:
        return Evaluation({}, predicted=self.predicted(task, server, memory)[1:], over_clients=True)


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (FewerClients, r"must predict all \d+ test images of 3 clients, not \d+ of 2$"),
        (says(metrics={"accuracy": 1.0}), r"\['accuracy'\] are measured by fedrepro"),
        (says(metrics={"ari": 0.9}), r"\['ari'\] are measured by fedrepro"),
        (says(per_client={"accuracy": torch.ones(3)}), r"\['accuracy'\] are measured by fedrepro"),
        (CountsItself, r"\['undefined_auroc', 'uploaded_bytes'\] are counted by the loop"),
        (OtherTest, "must leave the test images"),
        (FewerTests, "none more or less often"),
    ],
)
def test_a_method_neither_scores_itself_nor_picks_its_test(method: type[FedAvg], told: str) -> None:
    assert {*OF_CLUSTERS[:3], "silhouette", *headroom.METRICS, *images.METRICS} <= SCORES
    with pytest.raises(ValueError, match=told):
        run(method(rounds=1), make_task())


def test_facts_of_the_federation_and_slow_metrics_at_the_end() -> None:
    task = make_task(sizes=(10, 4, 7))
    shared = (*task.federation.train_of[:2], torch.tensor([0, 1, 20]))
    task = replace(task, federation=replace(task.federation, train_of=shared))
    outcome = run(FedAvg(rounds=2), task)
    labels = task.federation.train.labels
    assert outcome.counts["shared_images"] == 2
    assert outcome.counts["parameters"] == 3 * 9 + 3 + 4 * 27 + 4 + 16 * 5 + 5 + 5 * 3 + 3
    assert outcome.arrays["class_counts"][1].tolist() == [
        int((labels[10:14] == c).sum()) for c in range(3)
    ]
    assert outcome.arrays["group"].tolist() == [0, 0, 0]
    assert outcome.arrays["client_accuracy"].shape == (2, 3)
    assert outcome.arrays["client_accuracy"].dtype == np.float64
    assert outcome.metrics["accuracy"].rounds == (1, 2)
    assert outcome.metrics["f1_macro"].rounds == (2,)
    mean = outcome.arrays["client_accuracy"].mean(axis=1)
    np.testing.assert_allclose(outcome.metrics["accuracy"].values, mean, rtol=1e-15)
