from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fedrepro.methods.federated.base import FederatedMethod, Message, Round, Server, Task
from fedrepro.methods.federated.client_memory import ClientMemory
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.metrics import Evaluation
from fedrepro.methods.outcome import DivergedError
from fedrepro.methods.state import State
from tests.methods.conftest import MakeTask


@dataclass
class Visits(ClientMemory):
    visits: Tensor


@dataclass(frozen=True)
class Counting(FederatedMethod):
    """Sends a number; fails in round `fails_in` of the first `failures` attempts."""

    failures: int = 0
    fails_in: int = 1
    diverges_in: int | None = None

    def start(self, task: Task, attempt: int) -> Server:
        return float(100 * attempt)

    def new_memory(self, task: Task) -> Visits:
        return Visits(torch.zeros(task.federation.n_clients))

    def broadcast(self, now: Round, server: Server) -> Message:
        return Message(shared={"number": {"n": torch.tensor([server])}})

    def local_update(self, now: Round, download: Message, memory: Visits) -> Message:
        memory.visits[now.clients] += 1
        own = download.shared["number"]["n"].expand(len(now.clients)) + 1
        if now.t == self.diverges_in:
            own = own / 0
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


def test_rounds_bytes_logs_and_metrics_are_recorded(make_task: MakeTask) -> None:
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


def test_restarts_clear_history_and_memory_and_count_what_was_wasted(make_task: MakeTask) -> None:
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


def test_absent_clients_leave_gaps(make_task: MakeTask) -> None:
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
    make_task: MakeTask, every: int, rounds: tuple[int, ...]
) -> None:
    outcome = run(Counting(rounds=5), make_task(), evaluate_every=every)
    assert outcome.metrics["server"].rounds == rounds
    assert len(outcome.arrays["client_visits"]) == len(rounds)
    assert len(outcome.arrays["choice"]) == 5


def test_weights_that_are_no_longer_finite_end_the_run(make_task: MakeTask) -> None:
    with pytest.raises(DivergedError) as caught:
        run(Counting(rounds=5, diverges_in=2), make_task())
    assert caught.value.round == 3


def test_a_real_method_with_an_absurd_step_diverges(make_task: MakeTask) -> None:
    with pytest.raises(DivergedError):
        run(FedAvg(rounds=5, learning_rate=1e30, optimizer="sgd"), make_task())


def test_facts_of_the_federation_and_slow_metrics_at_the_end(make_task: MakeTask) -> None:
    task = make_task(sizes=(10, 4, 7))
    shared = (*task.federation.train_of[:2], torch.tensor([0, 1, 20]))
    task = replace(task, federation=replace(task.federation, train_of=shared))
    outcome = run(FedAvg(rounds=2), task)
    labels = task.federation.train.labels
    assert labels is not None
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
