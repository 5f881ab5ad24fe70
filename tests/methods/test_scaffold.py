"""SCAFFOLD's control variates, on quadratics whose numbers can be followed by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch

from fedrepro.methods.federated.base import Memory, Round, Task
from fedrepro.methods.federated.personalized.scaffold_ft import (
    ScaffoldFT,
    _Corrected,
    control,
    effective_steps,
)
from fedrepro.methods.state import State, repeat
from fedrepro.methods.training.local_loss import Batch, LocalLoss, LocalOptions, TrainedClients
from tests.methods.conftest import MakeTask

CURVATURE, MINIMUM = torch.tensor([1.0, 3.0]), torch.tensor([2.0, -1.0])
"""f_i(y) = a_i (y - b_i)² / 2; their mean has its minimum at (1·2 + 3·(-1)) / 4 = -0.25."""


@dataclass(frozen=True)
class OnQuadratics(ScaffoldFT):
    """The real method with one weight, and gradients of the quadratics instead of a network's."""

    corrected: bool = True

    def start(self, task: Task, attempt: int) -> State:
        return {"head.y": torch.zeros(1, 1), "control.head.y": torch.zeros(1, 1)}

    def train(
        self,
        now: Round,
        local_loss: LocalLoss,
        start: State,
        client_state: State | None = None,
        options: LocalOptions | None = None,
    ) -> TrainedClients:
        assert client_state is not None
        options = options or self.local_options(now.t)
        y, c = start["head.y"][:, 0], client_state["head.y"][:, 0]
        for _ in range(options.epochs):
            gradient = CURVATURE[now.clients] * (y - MINIMUM[now.clients])
            y = y - options.learning_rate * (gradient + (c if self.corrected else 0 * c))
        return TrainedClients({"head.y": y[:, None]}, {}, torch.zeros(len(now.clients)))


def rounds(method: OnQuadratics, task: Task, n: int) -> tuple[State, Memory]:
    server, memory = method.start(task, 0), method.new_memory(task)
    for t in range(n):
        clients = torch.arange(2)
        download = method.broadcast(Round(task, t, clients), server)
        upload = method.local_update(Round(task, t, clients), download, memory)
        server = method.aggregate(Round(task, t, clients), server, upload)
    return server, memory


@pytest.fixture
def task(make_task: MakeTask) -> Task:
    return make_task((4, 4))  # one batch of four an epoch: as many steps as epochs


METHOD = OnQuadratics(local_epochs=2, batch_size=4, learning_rate=0.1)


def test_the_first_round_by_hand(task: Task) -> None:
    """Client 1: 0 → 0.2 → 0.38. Client 2: 0 → -0.3 → -0.51. Gradients on the way: means over both
    steps -1.9 and 2.55."""
    server, memory = rounds(METHOD, task, 1)
    assert server["head.y"].item() == pytest.approx((0.38 - 0.51) / 2)
    assert memory.control["head.y"][:, 0].tolist() == pytest.approx([-1.9, 2.55])
    assert control(server)["head.y"].item() == pytest.approx((-1.9 + 2.55) / 2)


def test_the_second_round_by_hand(task: Task) -> None:
    """c - c_i is 2.225 and -2.225; both clients start at -0.065."""
    server, memory = rounds(METHOD, task, 2)
    y = [-0.065, -0.065]
    means = [0.0, 0.0]
    for i, (a, b, correction) in enumerate(((1.0, 2.0, 2.225), (3.0, -1.0, -2.225))):
        for _ in range(2):
            gradient = a * (y[i] - b)
            means[i] += gradient / 2
            y[i] -= 0.1 * (gradient + correction)
    assert server["head.y"].item() == pytest.approx(sum(y) / 2, abs=1e-6)
    assert memory.control["head.y"][:, 0].tolist() == pytest.approx(means, abs=1e-5)
    assert control(server)["head.y"].item() == pytest.approx(sum(means) / 2, abs=1e-5)


def test_corrected_clients_meet_at_the_common_minimum_and_drifting_ones_do_not(task: Task) -> None:
    longer = replace(METHOD, local_epochs=10)
    corrected, _ = rounds(longer, task, 60)
    drifting, _ = rounds(replace(longer, corrected=False), task, 60)
    assert corrected["head.y"].item() == pytest.approx(-0.25, abs=1e-4)
    assert abs(drifting["head.y"].item() + 0.25) > 0.05


def test_clients_that_stay_away_move_the_servers_variate_less(task: Task) -> None:
    server, memory, alone = METHOD.start(task, 0), METHOD.new_memory(task), torch.tensor([1])
    upload = METHOD.local_update(
        Round(task, 0, alone), METHOD.broadcast(Round(task, 0, alone), server), memory
    )
    after = METHOD.aggregate(Round(task, 0, alone), server, upload)
    assert control(after)["head.y"].item() == pytest.approx(2.55 / 2)
    assert memory.control["head.y"][:, 0].tolist() == pytest.approx([0.0, 2.55])


@pytest.mark.parametrize(("steps", "momentum"), [(1, 0.9), (7, 0.9), (12, 0.5), (5, 0.0)])
def test_effective_steps_are_how_far_torch_goes(steps: int, momentum: float) -> None:
    y = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([y], lr=0.1, momentum=momentum)
    for _ in range(steps):
        y.grad = torch.ones(1)
        optimizer.step()
    expected = -0.1 * float(effective_steps(torch.tensor([steps]), momentum))
    assert y.item() == pytest.approx(expected, rel=1e-5)


def test_the_correction_is_added_to_the_gradient(make_task: MakeTask) -> None:
    task = make_task((6, 6))
    state = repeat(task.new_model("model"), 2)
    for value in state.values():
        value.requires_grad_()
    correction = {name: torch.randn_like(value) for name, value in state.items()}
    index = torch.stack(list(task.federation.train_of))
    work, batch = (
        _Corrected(task.model, task.federation.train, None),
        Batch((0, 1), index, index, 0),
    )
    plain, moved = (
        torch.autograd.grad(work.loss(state, memory, batch).sum(), list(state.values()))
        for memory in ({}, correction)
    )
    for before, after, wanted in zip(plain, moved, correction.values(), strict=True):
        torch.testing.assert_close(after - before, wanted, rtol=1e-4, atol=1e-5)


def test_variates_travel_both_ways_and_running_statistics_have_none(make_task: MakeTask) -> None:
    task, method = make_task((4, 4)), ScaffoldFT()
    server = method.start(task, 0)
    assert set(control(server)) == {name for name in server if not name.startswith("control.")}
    clients = torch.arange(2)
    download = method.broadcast(Round(task, 0, clients), server)
    upload = method.local_update(Round(task, 0, clients), download, method.new_memory(task))
    assert download.shared.keys() == upload.per_client.keys() == {"weights", "control"}


def test_a_clients_variate_is_kept_once(make_task: MakeTask) -> None:
    task, method = make_task((4, 4)), ScaffoldFT()
    memory = method.new_memory(task)
    server, clients = method.start(task, 0), torch.arange(2)
    method.local_update(
        Round(task, 0, clients), method.broadcast(Round(task, 0, clients), server), memory
    )
    assert memory.control.keys() == control(server).keys()
    assert not memory.private.state
    method.finish(task, server, memory)
    assert memory.adapted.keys() == control(server).keys()


def test_adam_is_refused() -> None:
    with pytest.raises(ValueError, match="control variates are gradients"):
        ScaffoldFT(optimizer="adam")
