from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.local_loss import Batch, LocalLoss, LocalOptions, TrainedClients
from fedrepro.methods.training.steps import Grouping, padded_chunks, train_steps

TARGETS = torch.randn(200, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OPTIMIZERS = {
    "adam": LocalOptions(3, 4, 0.05),
    "adamw": LocalOptions(3, 4, 0.05, "adamw", weight_decay=0.1),
    "sgd": LocalOptions(3, 4, 0.05, "sgd"),
    "momentum": LocalOptions(3, 4, 0.05, "sgd", sgd_momentum=0.9, weight_decay=0.01),
    "lars": LocalOptions(3, 4, 0.05, "lars"),
}


class Distances(LocalLoss):
    """Mean over images of log cosh of (w + v - target); v rests in the second epoch. Counts its
    steps in client_state, and notes which clients took part in each."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    @property
    def image_bytes(self) -> int:
        return 1

    def is_batch_independent(self) -> bool:
        return True

    def learns(self, name: str, epoch: int) -> bool:
        return name == "w" or epoch != 1

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        self.batches.append(batch)
        at = (state["w"] + state["v"]).sum(1, keepdim=True)
        away = at - TARGETS[batch.index]
        return batch.mean(away.cosh().log().sum(2))

    def after(self, state: State, client_state: State, batch: Batch) -> None:
        client_state["steps"] += 1


def train(
    sizes: list[int], options: LocalOptions, grouping: Grouping, work: LocalLoss | None = None
) -> TrainedClients:
    n = len(sizes)
    stream = torch.Generator().manual_seed(1)
    start = {
        name: torch.randn(1, 2, 3, generator=stream, dtype=torch.float64).repeat(n, 1, 1)
        for name in ("w", "v")
    }
    own_of = list(torch.arange(sum(sizes)).split(sizes))
    memory = {"steps": torch.zeros(n, dtype=torch.int64)}
    return train_steps(
        work or Distances(), start, memory, own_of, options, Seeds(0), 0, torch.arange(n), grouping
    )


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    at_once=st.integers(2, 7),
    batch_size=st.integers(1, 9),
)
def test_unlike_clients_end_where_each_ends_alone(
    optimizer: str, sizes: list[int], at_once: int, batch_size: int
) -> None:
    options = replace(OPTIMIZERS[optimizer], batch_size=batch_size)
    alone = train(sizes, options, Grouping(1))
    together = train(sizes, options, Grouping(at_once, padded=True))
    for name in alone.state:
        torch.testing.assert_close(together.state[name], alone.state[name], rtol=1e-9, atol=1e-9)
    assert together.client_state["steps"].tolist() == [3 * -(-size // batch_size) for size in sizes]
    torch.testing.assert_close(together.loss, alone.loss, equal_nan=True)


def test_adam_counts_a_clients_own_steps() -> None:
    sizes, work = [9, 3, 1, 5], Distances()
    trained = train(sizes, OPTIMIZERS["adam"], Grouping(4), work)
    assert max(len(batch.members) for batch in work.batches) == 4
    for client, own in enumerate(torch.arange(sum(sizes)).split(sizes)):
        stream = torch.Generator().manual_seed(1)
        w, v = (
            torch.randn(1, 2, 3, generator=stream, dtype=torch.float64).requires_grad_()
            for _ in range(2)
        )
        steps, order = torch.optim.Adam([w, v], lr=0.05), Seeds(0).generator("batches", 0, client)
        for epoch in range(3):
            for at in torch.randperm(len(own), generator=order).split(4):
                steps.zero_grad()
                v.requires_grad_(epoch != 1)
                away = (w + v).sum(1) - TARGETS[own[at]]
                away.cosh().log().sum(1).mean().backward()
                steps.step()
        torch.testing.assert_close(trained.state["w"][client], w.detach()[0])
        torch.testing.assert_close(trained.state["v"][client], v.detach()[0])


def test_unlike_clients_stay_apart_where_that_is_asked_for_or_padding_is_not_exact() -> None:
    class NotExact(Distances):
        def is_batch_independent(self) -> bool:
            return False

    apart = ((Distances(), Grouping(4, padded=False)), (NotExact(), Grouping(4, padded=True)))
    for work, grouping in apart:
        train([7, 2, 7, 1], OPTIMIZERS["sgd"], grouping, work)
        assert {batch.members for batch in work.batches} == {(0, 2), (1,), (3,)}
        assert all(batch.share is None for batch in work.batches)


def test_batches_that_are_too_small_are_left_out() -> None:
    work = Distances()
    work.smallest_batch = 2
    options = replace(OPTIMIZERS["sgd"], epochs=1, batch_size=3)
    trained = train([1, 4], options, Grouping(1), work)
    assert trained.client_state["steps"].tolist() == [0, 1]
    assert trained.loss.isnan().tolist() == [True, False]


SIZES = st.lists(st.integers(0, 9), min_size=1, max_size=8)


def cost(chunk: Sequence[int], batch_size: int, worth: int) -> int:
    """Of a chunk of sizes, step by step."""
    total = 0
    for start in range(0, max(chunk), batch_size):
        active = [size for size in chunk if size > start]
        total += worth + len(active) * min(batch_size, max(active) - start)
    return total


@settings(deadline=None)
@given(
    sizes=SIZES,
    at_once=st.integers(1, 5),
    batch_size=st.integers(1, 4),
    worth=st.sampled_from([1, 3, 10, 1000]),
)
def test_padded_chunks_cost_least_of_all_ways_to_cut(
    sizes: list[int], at_once: int, batch_size: int, worth: int
) -> None:
    found = padded_chunks(tuple(sizes), at_once, batch_size, worth)
    assert sorted(i for chunk in found for i in chunk) == list(range(len(sizes)))
    falling = sorted(sizes, reverse=True)
    assert [sizes[i] for chunk in found for i in chunk] == falling
    assert max(map(len, found)) <= at_once
    ways = []
    for cuts in product((False, True), repeat=len(sizes) - 1):
        ends = [i + 1 for i, cut in enumerate(cuts) if cut]
        pieces = [falling[a:b] for a, b in zip([0, *ends], [*ends, len(sizes)], strict=True)]
        if max(map(len, pieces)) <= at_once:
            ways.append(sum(cost(piece, batch_size, worth) for piece in pieces))
    assert sum(cost([sizes[i] for i in chunk], batch_size, worth) for chunk in found) == min(ways)


def test_the_engine_pads_where_steps_cost_more_than_images() -> None:
    sizes = (64,) * 10 + (33,) * 10
    assert len(padded_chunks(sizes, 20, 32, Grouping().step_worth(100_000))) == 2
    assert len(padded_chunks(sizes, 20, 32, Grouping(padded=True).step_worth(100_000))) == 1
    assert len(padded_chunks((50, 49, 48, 47), 20, 32, Grouping().step_worth(9_000))) == 1
