from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated.base import Task
from fedrepro.methods.nn.layers import in_fast_layout
from fedrepro.methods.objectives.byol import BYOL
from fedrepro.methods.objectives.moco import MoCo
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.optim.lars import LARS
from fedrepro.methods.optim.optimizers import Optimizer
from fedrepro.methods.state import State, repeat, take
from fedrepro.methods.training.client_views import ClientViews
from fedrepro.methods.training.local import Supervised
from fedrepro.methods.training.local_loss import Batch, LocalLoss, LocalOptions
from fedrepro.methods.training.plain import train_client
from fedrepro.methods.training.self_supervised import SelfSupervisedLoss
from fedrepro.methods.training.steps import Grouping, train_steps
from tests.methods.conftest import make_task

T = 3


@dataclass(frozen=True)
class TorchsOptions(LocalOptions):
    """Local options whose optimisers are torch's own, as anybody would write them."""

    def clip(self, weights: Any) -> None:
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(list(weights), self.clip_norm)

    def optimizer_over(self, weights: Any) -> Optimizer:
        made: dict[str, Callable[..., Optimizer]] = {
            "adam": torch.optim.Adam,
            "sgd": torch.optim.SGD,
            "lars": LARS,
        }
        more = {"weight_decay": self.weight_decay}
        if self.optimizer == "sgd":
            more["momentum"] = self.sgd_momentum
        return made[self.optimizer](list(weights), lr=self.learning_rate, **more)


OPTIONS = {
    "adam": LocalOptions(3, 4, 0.01, "adam"),
    "adam-decay": LocalOptions(3, 4, 0.01, "adam", weight_decay=0.01),
    "sgd": LocalOptions(3, 4, 0.1, "sgd"),
    "sgd-momentum-decay": LocalOptions(3, 4, 0.05, "sgd", sgd_momentum=0.9, weight_decay=0.01),
    "lars": LocalOptions(3, 4, 1.0, "lars", weight_decay=1e-4),
    "sgd-clipped": LocalOptions(3, 4, 0.5, "sgd", clip_norm=0.3),
}


OBJECTIVES = [
    SimCLR(projector_widths=(6, 4)),
    BYOL(projector_widths=(6, 4), predictor_width=5),
    MoCo(projector_widths=(6, 4), queue_size=5),
]


class Distances(LocalLoss):
    """Mean over images i of (w - i)^2 / 2, number by number; counts the steps of each client."""

    image_bytes = 4

    def is_batch_independent(self) -> bool:
        return True

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        return batch.mean((state["w"] - batch.index) ** 2 / 2)

    def after(self, state: State, client_state: State, batch: Batch) -> None:
        client_state["steps"] += 1


def in_torch(options: LocalOptions) -> TorchsOptions:
    return TorchsOptions(**vars(options))


def alone(
    task: Task, loss_of: Callable[[Tensor], LocalLoss], start: State, client_state: State,
    options: LocalOptions,
) -> tuple[State, State, Tensor]:  # fmt: skip
    """Every client by itself, in the plain loop; one after the other."""
    states, kept, losses = list[State](), list[State](), list[Tensor]()
    for client, own in enumerate(task.federation.train_of):
        state, theirs = take(start, [client]), take(client_state, [client])
        stream = task.seeds.generator("batches", T, client)
        loss = loss_of(torch.tensor([client]))
        losses.append(train_client(loss, state, theirs, 0, own, options, stream))
        states.append(state)
        kept.append(theirs)
    both = ({k: torch.cat([one[k] for one in each]) for k in each[0]} for each in (states, kept))
    return (*both, torch.cat(losses))  # type: ignore[return-value]


def supervised(task: Task, on_views: bool = False) -> Callable[[Tensor], LocalLoss]:
    def loss_of(clients: Tensor) -> LocalLoss:
        loss = Supervised(task.model, task.federation.train, None)
        if on_views:
            window = Augmentation(crop_scale=(0.5, 1.0), crop_padding=2)
            loss.views = ClientViews(window, task.federation.train, task.seeds, T, clients)
        return loss

    return loss_of


def self_supervised(task: Task, objective: Any) -> tuple[Callable[[Tensor], LocalLoss], Any]:
    learner = objective.build(task.model.encoder, task.model.dim, task.federation.n_classes)
    augmentation, train = Augmentation(crop_scale=(0.5, 1.0)), task.federation.train

    def loss_of(clients: Tensor) -> LocalLoss:
        views = ClientViews(augmentation, train, task.seeds, T, clients)
        return SelfSupervisedLoss(learner, task.model.encoder, train, views)

    return loss_of, learner


def together(
    task: Task, loss: LocalLoss, start: State, client_state: State, options: LocalOptions,
    grouping: Grouping,
) -> tuple[State, State, Tensor]:  # fmt: skip
    own_of, everyone = task.federation.train_of, torch.arange(task.federation.n_clients)
    found = train_steps(
        loss, start, client_state, own_of, options, task.seeds, T, everyone, grouping
    )
    return found.state, found.client_state, found.loss


def assert_close(ours: Any, theirs: Any, rtol: float, atol: float) -> None:
    for left, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(left, right, rtol=rtol, atol=atol)


@pytest.mark.parametrize("sizes", [(10, 10, 10), (10, 3, 7, 4)], ids=["alike", "unlike"])
@pytest.mark.parametrize(
    ("name", "on_views"), [*((one, False) for one in OPTIONS), ("sgd-momentum-decay", True)]
)
def test_stacked_supervised_steps_are_those_of_the_plain_loop(
    name: str, on_views: bool, sizes: tuple[int, ...]
) -> None:
    """To rounding in single precision: products of stacked weights add in another order."""
    task, options = make_task(sizes), OPTIONS[name]
    start, loss_of = repeat(task.new_model("model"), len(sizes)), supervised(task, on_views)
    expected = alone(task, loss_of, start, {}, in_torch(options))
    for grouping in (Grouping(2, padded=True), Grouping(4, padded=True), Grouping(4, padded=False)):
        loss = loss_of(torch.arange(len(sizes)))
        found = together(task, loss, start, {}, options, grouping)
        assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=["simclr", "byol", "moco"])
@pytest.mark.parametrize("options", [OPTIONS["sgd-momentum-decay"], OPTIONS["lars"]])
def test_stacked_self_supervised_steps_are_those_of_the_plain_loop(
    options: LocalOptions, objective: Any
) -> None:
    """Queues and target networks too.

    Steps are short: batch statistics of four images enlarge rounding (at a rate of 0.01 a change of
    the weights by 1e-7 of themselves ends 0.6 away with BYOL).
    """
    task = make_task((8, 8, 12, 9))
    options = replace(options, epochs=2, learning_rate=options.learning_rate / 50)
    loss_of, learner = self_supervised(task, objective)
    start = repeat(learner.new(torch.Generator().manual_seed(1)), 4)
    client_state = learner.memory(start)
    expected = alone(task, loss_of, start, client_state, in_torch(options))
    loss = loss_of(torch.arange(4))
    found = together(task, loss, start, client_state, options, Grouping(4))
    assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_stacked_steps_of_the_same_kernels_have_the_plain_loops_bits(
    options: LocalOptions,
) -> None:
    """Where every operator works number by number, and no batch is padded."""
    task = make_task((8, 4, 12, 8))
    start, client_state = {"w": torch.zeros(4, 1)}, {"steps": torch.zeros(4)}
    expected = alone(task, lambda clients: Distances(), start, client_state, options)
    found = together(task, Distances(), start, client_state, options, Grouping(4, padded=True))
    assert_close(found, expected, rtol=0, atol=0)
    assert found[1]["steps"].tolist() == [6, 3, 9, 6]


def test_a_dropped_last_batch_is_no_step_and_a_client_below_one_batch_keeps_its_own() -> None:
    """Batches of 4: of 8, 4, 11 and 3 images in two epochs 2, 1, 2 and 1 an epoch make steps."""
    task, options = make_task((8, 4, 11, 3)), LocalOptions(2, 4, 0.1, "sgd", drop_last=True)
    start, client_state = {"w": torch.zeros(4, 1)}, {"steps": torch.zeros(4)}
    expected = []
    for client, own in enumerate(task.federation.train_of):
        w, stream = 0.0, task.seeds.generator("batches", T, client)
        for _ in range(2):
            order = torch.randperm(len(own), generator=stream).tolist()
            for at in [(0, 4), (4, 8)] if len(own) >= 8 else [(0, min(4, len(own)))]:
                images = [float(own[i]) for i in order[slice(*at)]]
                w -= 0.1 * sum(w - i for i in images) / len(images)
        expected.append(w)
    for grouping in (Grouping(1), Grouping(4, padded=True)):
        found = together(task, Distances(), start, client_state, options, grouping)
        assert found[1]["steps"].tolist() == [4, 2, 4, 2]
        assert found[0]["w"].flatten().tolist() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["sgd-momentum-decay", "lars"])
def test_a_client_that_shares_no_step_has_the_bits_of_the_plain_loop(name: str) -> None:
    """The same kernels: torch's SGD with momentum, LARS."""
    task, options = make_task((10, 3, 7)), OPTIONS[name]
    start = repeat(task.new_model("model"), 3)
    # A single model's convolutions lie with their channels innermost.
    states = [in_fast_layout(take(start, [client])) for client in range(3)]
    found = together(task, supervised(task)(torch.arange(3)), start, {}, options, Grouping(1))
    for client, state in enumerate(states):
        stream = task.seeds.generator("batches", T, client)
        own = task.federation.train_of[client]
        loss = supervised(task)(torch.tensor([client]))
        train_client(loss, state, {}, 0, own, in_torch(options), stream)
        for key, value in state.items():
            assert torch.equal(found[0][key][client], value[0]), key
