"""Clients in several threads: the same bits as one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Task
from fedrepro.methods.objectives.moco import MoCo
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.registry import find
from fedrepro.methods.state import State, repeat
from fedrepro.methods.training.grouping import Grouping
from fedrepro.methods.training.local import Supervised, train_clients
from fedrepro.methods.training.spread import for_each
from fedrepro.methods.training.steps import LocalOptions, train_steps

MakeTask = Callable[..., Task]
OPTIONS = LocalOptions(2, 4, 0.05)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_item_is_worked_on_once(threads: int) -> None:
    done: list[int] = []
    for_each(done.append, range(7), threads)
    assert sorted(done) == list(range(7))


def test_what_a_call_raises_comes_out_and_nothing_new_begins() -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        for_each(work, range(200), 2)
    assert len(begun) < 200


def test_torchs_threads_are_one_each_and_put_back() -> None:
    before, seen = torch.get_num_threads(), list[int]()
    torch.set_num_threads(2)
    try:
        for_each(lambda _: seen.append(torch.get_num_threads()), range(4), 2)
        assert torch.get_num_threads() == 2
        assert seen == [1] * 4
    finally:
        torch.set_num_threads(before)


class Meeting(Supervised):
    """Notes the threads that train clients, which wait for as many as `parties` of them."""

    def __init__(self, task: Task, parties: int) -> None:
        super().__init__(task.model, task.federation.train, None)
        self.barrier, self.threads = threading.Barrier(parties, timeout=60), set[int]()

    def begin_epoch(
        self, state: State, memory: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        self.threads.add(threading.get_ident())
        self.barrier.wait()


@pytest.mark.parametrize(
    ("grouping", "together"),
    [
        (Grouping(1, threads=2), True),
        (Grouping(1, threads=2, spread=False), False),
        (Grouping(1), False),
        (Grouping(2, threads=2), False),
        (Grouping(2, threads=2, spread=True), True),
    ],
)
def test_chunks_train_at_the_same_time_where_asked_for_or_where_each_is_one_client(
    make_task: MakeTask, grouping: Grouping, together: bool
) -> None:
    clients = 2 * (grouping.at_once or 1)
    task = make_task((8,) * clients)
    start = repeat(task.new_model("model"), clients)
    everyone, own_of = torch.arange(clients), task.federation.train_of

    work = Meeting(task, 2 if together else 1)
    train_steps(work, start, {}, own_of, OPTIONS, task.seeds, 0, everyone, grouping)
    assert len(work.threads) == (2 if together else 1)
    assert (threading.get_ident() in work.threads) != together


@pytest.mark.parametrize("at_once", [1, 2])
def test_threads_change_no_bit(make_task: MakeTask, at_once: int) -> None:
    task = make_task((11, 8, 8, 3, 11, 5))
    pool, everyone = task.new_model("model"), torch.arange(6)

    def trained(grouping: Grouping) -> State:
        return train_clients(
            task.model, pool, torch.zeros_like(everyone), task.federation, everyone, OPTIONS,
            task.seeds, 0, grouping=grouping,
        )  # fmt: skip

    one = trained(Grouping(at_once))
    three = trained(Grouping(at_once, threads=3, spread=True))
    assert all(torch.equal(three[name], value) for name, value in one.items())


SHORT = {"rounds": 2, "local_epochs": 1, "batch_size": 4, "learning_rate": 0.01}
METHODS = {
    "fedavg": None,
    "scaffold-ft": None,
    "fcl": MoCo(projector_widths=(6, 4), queue_size=6),
    "calibre": MoCo(projector_widths=(6, 4), queue_size=6),
    "fedsimclr": SimCLR(),
}


@pytest.mark.parametrize("name", METHODS)
def test_whole_runs_are_the_same_in_threads(make_task: MakeTask, name: str) -> None:
    method = find("federated", name)(**SHORT)
    views = Augmentation(crop_scale=(0.5, 1.0))
    task = replace(make_task((9, 6, 12, 7, 6)), objective=METHODS[name], augmentation=views)
    one, three = (
        loop.run(method, replace(task, grouping=Grouping(1, threads=threads))) for threads in (1, 3)
    )
    assert one.metrics.keys() == three.metrics.keys()
    for metric, curve in one.metrics.items():
        assert curve.values == pytest.approx(
            three.metrics[metric].values, rel=0, abs=0, nan_ok=True
        )
    assert one.encoder is not None
    assert three.encoder is not None
    assert all(torch.equal(three.encoder[key], value) for key, value in one.encoder.items())
