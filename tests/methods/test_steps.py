"""The engine of local steps, on a quadratic whose every step is known."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.local_loss import Batch, LocalLoss, LocalOptions
from fedrepro.methods.training.steps import Grouping, train_steps

VALUES = torch.arange(12, dtype=torch.float32)


class Quadratic(LocalLoss):
    """(w - mean of the batch)^2 / 2 for each model; `frozen` is learnt in odd epochs only."""

    def __init__(self, smallest_batch: int = 1) -> None:
        self.smallest_batch = smallest_batch
        self.epochs: list[tuple[int, tuple[int, ...]]] = []
        self.images: list[int] = []

    @property
    def image_bytes(self) -> int:
        return 4

    def begin_epoch(
        self, state: State, client_state: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        self.epochs.append((epoch, tuple(members)))

    def learns(self, name: str, epoch: int) -> bool:
        return name == "w" or epoch % 2 == 1

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        self.images += batch.index.flatten().tolist()
        target = VALUES[batch.index].mean(dim=1)
        return ((state["w"] - target) ** 2 / 2) + (state["frozen"] - 1) ** 2 / 2

    def after(self, state: State, client_state: State, batch: Batch) -> None:
        client_state["steps"] += 1


def run(
    own_of: list[Tensor], options: LocalOptions, work: Quadratic | None = None, at_once: int = 3
) -> tuple[State, State, Tensor]:
    n = len(own_of)
    start = {"w": torch.zeros(n), "frozen": torch.zeros(n)}
    memory = {"steps": torch.zeros(n)}
    trained = train_steps(
        work or Quadratic(),
        start,
        memory,
        own_of,
        options,
        Seeds(0),
        0,
        torch.arange(n),
        Grouping(at_once),
    )
    assert not start["w"].any()
    assert not memory["steps"].any()
    return trained.state, trained.client_state, trained.loss


OWN = [torch.arange(4), torch.arange(4, 10), torch.arange(8, 12)]


def test_full_batches_of_gradient_descent_follow_the_formula() -> None:
    state, memory, loss = run(OWN, LocalOptions(3, 100, 0.5, "sgd"))
    means = torch.stack([VALUES[own].mean() for own in OWN])
    torch.testing.assert_close(state["w"], means * (1 - 0.5**3))
    torch.testing.assert_close(state["frozen"], torch.full((3,), 0.5))  # one odd epoch
    assert memory["steps"].tolist() == [3, 3, 3]
    torch.testing.assert_close(loss, (means * 0.25) ** 2 / 2 + 0.125)


def test_momentum_and_weight_decay_are_torchs() -> None:
    options = LocalOptions(4, 100, 0.1, "sgd", sgd_momentum=0.9, weight_decay=0.01)
    state, _, _ = run(OWN, options)
    w = torch.zeros(1, requires_grad=True)
    steps = torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.01)
    for _ in range(4):
        steps.zero_grad()
        ((w - VALUES[OWN[0]].mean()) ** 2 / 2).sum().backward()
        steps.step()
    torch.testing.assert_close(state["w"][:1], w.detach())


def test_every_image_is_seen_once_an_epoch_by_its_owner() -> None:
    work = Quadratic()
    run(OWN, LocalOptions(2, 3, 0.1), work)
    assert sorted(work.images) == sorted(2 * torch.cat(OWN).tolist())


def test_batches_that_are_too_small_are_left_out() -> None:
    work = Quadratic(smallest_batch=2)
    _, memory, loss = run([torch.arange(1), torch.arange(4)], LocalOptions(1, 3, 0.1), work)
    assert memory["steps"].tolist() == [0, 1]
    assert loss.isnan().tolist() == [True, False]
