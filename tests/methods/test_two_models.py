from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.personalized import scaffold_ft
from fedrepro.methods.federated.personalized._two_models import PERSONAL, common, personal
from fedrepro.methods.federated.personalized.apfl import APFL, SHARE
from fedrepro.methods.federated.personalized.ditto import Ditto, squared_distance
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.state import State, concatenate, repeat
from fedrepro.methods.training.local_loss import Batch, LocalLoss, LocalOptions, TrainedClients
from tests.methods.conftest import after_rounds, make_task, one_round

OPTIONS = {"rounds": 2, "local_epochs": 2, "batch_size": 4, "learning_rate": 0.1}


def batch_of(task: Task) -> Batch:
    index = torch.stack(list(task.federation.train_of))
    return Batch(tuple(range(len(index))), index, index, 0)


def models(task: Task, *names: str) -> State:
    return concatenate([task.new_model(name) for name in names])


def gradients(loss: torch.Tensor, state: State) -> State:
    found = torch.autograd.grad(loss.sum(), list(state.values()), allow_unused=True)
    return {
        name: torch.zeros_like(value) if gradient is None else gradient
        for (name, value), gradient in zip(state.items(), found, strict=True)
    }


def plain_gradients(task: Task, model: State) -> State:
    leaf = {name: value.detach().clone().requires_grad_() for name, value in model.items()}
    labels = task.federation.train.labels
    index = batch_of(task).index
    logits = task.model(leaf, to_float(task.federation.train.images[index]), training=True)
    losses = [F.cross_entropy(own, labels[i]) for own, i in zip(logits, index, strict=True)]
    return gradients(torch.stack(losses), leaf)


def test_a_squared_distance_by_hand_leaves_running_statistics_out() -> None:
    state = {"w": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "n.running_mean": torch.ones(2, 1)}
    anchor = {"w": torch.tensor([[1.0, 0.0]]), "n.running_mean": torch.zeros(1, 1)}
    assert squared_distance(state, anchor).tolist() == [4.0, 20.0]


def test_dittos_proximal_step_by_hand() -> None:
    """The gradient of v is that of its loss plus λ (v - w); that of w is FedAvg's."""
    task = make_task((6, 6))
    method = Ditto(proximity=0.7)
    received, v, w = models(task, "received"), models(task, "a", "b"), models(task, "c", "d")
    state = {**w, **{PERSONAL + name: value for name, value in v.items()}}
    for value in state.values():
        value.requires_grad_()
    found = gradients(method.local_loss(task, received).loss(state, {}, batch_of(task)), state)
    of_v, of_w = plain_gradients(task, v), plain_gradients(task, w)
    for name in v:
        away = (v[name] - received[name]).detach()
        torch.testing.assert_close(found[PERSONAL + name], of_v[name] + 0.7 * away)
        torch.testing.assert_close(found[name], of_w[name])


def test_dittos_global_model_is_fedavgs() -> None:
    task = make_task((8, 6))
    methods = Ditto(**OPTIONS), FedAvg(**OPTIONS)  # type: ignore[arg-type]
    found, expected = (after_rounds(method, task)[0] for method in methods)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_apfls_three_gradients_by_hand() -> None:
    """∇_w f(w); α ∇f(v̄) for v; ⟨∇f(v̄), v - w⟩ for α."""
    task, method = make_task((6, 6)), APFL()
    v, w, share = models(task, "a", "b"), models(task, "c", "d"), torch.tensor([0.3, 0.8])
    state = {**w, **{PERSONAL + n: x for n, x in v.items()}, PERSONAL + SHARE: share}
    for value in state.values():
        value.requires_grad_()
    found = gradients(method.local_loss(task, w).loss(state, {}, batch_of(task)), state)
    mixed = {
        n: torch.stack([a * x + (1 - a) * y for a, x, y in zip(share, v[n], w[n], strict=True)])
        for n in v
    }
    of_mixed, of_w = plain_gradients(task, mixed), plain_gradients(task, w)
    for client in range(2):
        along = 0.0
        for name in v:
            torch.testing.assert_close(found[name][client], of_w[name][client])
            torch.testing.assert_close(
                found[PERSONAL + name][client], share[client].detach() * of_mixed[name][client]
            )
            along += float((of_mixed[name][client] * (v[name] - w[name])[client].detach()).sum())
        assert found[PERSONAL + SHARE][client].item() == pytest.approx(along, rel=1e-4)


@pytest.mark.parametrize(("rate", "ends"), [(0.1, None), (1e4, (0.0, 1.0))])
def test_apfls_share_takes_plain_steps_between_zero_and_one(
    rate: float, ends: tuple[float, ...] | None
) -> None:
    """Momentum and weight decay are the models': one step after another moves α by the gradient."""
    task, clients = make_task((6, 6)), torch.arange(2)
    method = APFL(local_epochs=1, batch_size=3, optimizer="sgd", sgd_momentum=0.9, weight_decay=0.1)
    v, w = models(task, "a", "b"), models(task, "c", "d")
    share = torch.tensor([0.3, 0.8])
    state = {**w, **{PERSONAL + n: x for n, x in v.items()}, PERSONAL + SHARE: share}
    work, moved = method.local_loss(task, w), list[tuple[torch.Tensor, ...]]()
    plain = work.after

    def noted(state: State, client_state: State, batch: Batch) -> None:
        before, slope = work.share.clone(), state[PERSONAL + SHARE].grad.clone()  # type: ignore
        plain(state, client_state, batch)
        moved.append((before - rate * slope, state[PERSONAL + SHARE].detach().clone()))

    work.after = noted  # type: ignore[method-assign]
    options = replace(method.local_options(0), learning_rate=rate)
    method.train(Round(task, 0, clients), work, state, options=options)
    assert moved
    for expected, found in moved:
        torch.testing.assert_close(found, expected.clamp(0, 1))
        assert ends is None or set(found.tolist()) <= set(ends)


@pytest.mark.parametrize("method", [Ditto(**OPTIONS), APFL(**OPTIONS)], ids=["ditto", "apfl"])  # type: ignore[arg-type]
def test_adapting_moves_personal_models_alone(method: Ditto | APFL) -> None:
    task = make_task((8, 8))
    server = method.start(task, 0)
    start = {**repeat(server, 2), **repeat(method.private(server, server), 2)}
    work = method.both(task, server, adapting=True)
    after = method.adapted_by(task, work, start)
    assert all(torch.equal(value, start[name]) for name, value in common(after).items())
    assert any(not torch.equal(value, start[PERSONAL + n]) for n, value in personal(after).items())


def test_a_client_at_its_first_round_starts_its_own_model_at_the_global_one() -> None:
    task, method = make_task((8, 8)), Ditto(**OPTIONS)  # type: ignore[arg-type]
    memory, received = method.new_memory(task), models(task, "now")
    first = torch.tensor([0])
    before = method.begin(Round(task, 0, first), models(task, "before"), memory)
    memory.private.remember(first, before)
    new = personal(method.begin(Round(task, 0, torch.tensor([1])), received, memory))
    old = personal(method.begin(Round(task, 0, torch.tensor([0])), received, memory))
    assert all(torch.equal(value, received[name]) for name, value in new.items())
    assert not torch.equal(old["head.0.weight"], received["head.0.weight"])


CURVATURE, MINIMUM = torch.tensor([1.0, 3.0]), torch.tensor([2.0, -1.0])
"""f_i(y) = a_i (y - b_i)² / 2; their mean has its minimum at (1·2 + 3·(-1)) / 4 = -0.25."""


@dataclass(frozen=True)
class OnQuadratics(scaffold_ft.ScaffoldFT):
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
        options = options or self.local_options(now.t)
        y, c = start["head.y"][:, 0], client_state["head.y"][:, 0]
        for _ in range(options.epochs):
            gradient = CURVATURE[now.clients] * (y - MINIMUM[now.clients])
            y = y - options.learning_rate * (gradient + (c if self.corrected else 0 * c))
        return TrainedClients({"head.y": y[:, None]}, {}, torch.zeros(len(now.clients)))


@pytest.fixture
def task() -> Task:
    return make_task((4, 4))  # one batch of four an epoch: as many steps as epochs


METHOD = OnQuadratics(local_epochs=2, batch_size=4, learning_rate=0.1)


def test_the_first_round_by_hand(task: Task) -> None:
    """Client 1: 0 → 0.2 → 0.38. Client 2: 0 → -0.3 → -0.51. Gradients on the way: means over both
    steps -1.9 and 2.55."""
    server, memory = after_rounds(replace(METHOD, rounds=1), task)
    assert server["head.y"].item() == pytest.approx((0.38 - 0.51) / 2)
    assert memory.control["head.y"][:, 0].tolist() == pytest.approx([-1.9, 2.55])
    assert scaffold_ft.control(server)["head.y"].item() == pytest.approx((-1.9 + 2.55) / 2)


def test_the_second_round_by_hand(task: Task) -> None:
    """c - c_i is 2.225 and -2.225; both clients start at -0.065."""
    server, memory = after_rounds(replace(METHOD, rounds=2), task)
    y = [-0.065, -0.065]
    means = [0.0, 0.0]
    for i, (a, b, correction) in enumerate(((1.0, 2.0, 2.225), (3.0, -1.0, -2.225))):
        for _ in range(2):
            gradient = a * (y[i] - b)
            means[i] += gradient / 2
            y[i] -= 0.1 * (gradient + correction)
    assert server["head.y"].item() == pytest.approx(sum(y) / 2, abs=1e-6)
    assert memory.control["head.y"][:, 0].tolist() == pytest.approx(means, abs=1e-5)
    assert scaffold_ft.control(server)["head.y"].item() == pytest.approx(sum(means) / 2, abs=1e-5)


def test_corrected_clients_meet_at_the_common_minimum_and_drifting_ones_do_not(task: Task) -> None:
    longer = replace(METHOD, local_epochs=10)
    corrected, _ = after_rounds(replace(longer, rounds=60), task)
    drifting, _ = after_rounds(replace(longer, corrected=False, rounds=60), task)
    assert corrected["head.y"].item() == pytest.approx(-0.25, abs=1e-4)
    assert abs(drifting["head.y"].item() + 0.25) > 0.05


def test_clients_that_stay_away_move_the_servers_variate_less(task: Task) -> None:
    server, memory, alone = METHOD.start(task, 0), METHOD.new_memory(task), torch.tensor([1])
    _, _, after = one_round(METHOD, Round(task, 0, alone), server, memory)
    assert scaffold_ft.control(after)["head.y"].item() == pytest.approx(2.55 / 2)
    assert memory.control["head.y"][:, 0].tolist() == pytest.approx([0.0, 2.55])


@pytest.mark.parametrize(("steps", "momentum"), [(1, 0.9), (7, 0.9), (12, 0.5), (5, 0.0)])
def test_effective_steps_are_how_far_torch_goes(steps: int, momentum: float) -> None:
    y = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([y], lr=0.1, momentum=momentum)
    for _ in range(steps):
        y.grad = torch.ones(1)
        optimizer.step()
    expected = -0.1 * float(scaffold_ft.effective_steps(torch.tensor([steps]), momentum))
    assert y.item() == pytest.approx(expected, rel=1e-5)


def test_the_correction_is_added_to_the_gradient() -> None:
    task = make_task((6, 6))
    state = repeat(task.new_model("model"), 2)
    for value in state.values():
        value.requires_grad_()
    correction = {name: torch.randn_like(value) for name, value in state.items()}
    index = torch.stack(list(task.federation.train_of))
    work, batch = (
        scaffold_ft._Corrected(task.model, task.federation.train, None),
        Batch((0, 1), index, index, 0),
    )
    plain, moved = (
        torch.autograd.grad(work.loss(state, memory, batch).sum(), list(state.values()))
        for memory in ({}, correction)
    )
    for before, after, wanted in zip(plain, moved, correction.values(), strict=True):
        torch.testing.assert_close(after - before, wanted, rtol=1e-4, atol=1e-5)


def test_variates_travel_both_ways_and_running_statistics_have_none() -> None:
    task, method = make_task((4, 4)), scaffold_ft.ScaffoldFT()
    server = method.start(task, 0)
    assert set(scaffold_ft.control(server)) == {
        name for name in server if not name.startswith("control.")
    }
    clients = torch.arange(2)
    download, upload, _ = one_round(method, Round(task, 0, clients), server)
    assert download.shared.keys() == upload.per_client.keys() == {"weights", "control"}
