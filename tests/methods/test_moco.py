import math
from collections import deque

import pytest
import torch
from torch import Tensor

from fedrepro.methods.objectives._memory import enqueue, is_filled, new_queue, unit
from fedrepro.methods.objectives.moco import info_nce
from fedrepro.methods.state import State, clone, take
from tests.methods.conftest import MakeLearner
from tests.whole_torchvision import ensure_torchvision


def vectors(*shape: int) -> Tensor:
    return unit(torch.randn(*shape, dtype=torch.float64))


# Eq. 1


@pytest.mark.parametrize("temperature", [0.07, 0.2, 1.0])
def test_the_loss_equals_a_plain_loop_over_equation_1(temperature: float) -> None:
    q, k, negatives = vectors(3, 5, 4), vectors(3, 5, 4), vectors(3, 8, 4)
    losses = info_nce(q, k, negatives, temperature)
    for model in range(3):
        for i in range(5):
            top = math.exp(float(q[model, i] @ k[model, i]) / temperature)
            rest = sum(math.exp(float(q[model, i] @ n) / temperature) for n in negatives[model])
            expected = -math.log(top / (top + rest))
            assert losses[model, i].item() == pytest.approx(expected, abs=1e-12)


def test_negatives_that_are_not_valid_do_not_count() -> None:
    q, k, negatives = vectors(2, 5, 4), vectors(2, 5, 4), vectors(2, 8, 4)
    valid = torch.tensor([[True] * 3 + [False] * 5, [True] * 6 + [False] * 2])
    losses = info_nce(q, k, negatives, 0.2, valid)
    for model, kept in enumerate([3, 6]):
        one = slice(model, model + 1)
        expected = info_nce(q[one], k[one], negatives[one, :kept], 0.2)
        torch.testing.assert_close(losses[one], expected)


def test_the_loss_equals_that_of_lightly() -> None:
    ensure_torchvision()
    loss = pytest.importorskip("lightly.loss")
    q, k, negatives = vectors(9, 16).float(), vectors(9, 16).float(), vectors(20, 16).float()
    theirs = loss.NTXentLoss(temperature=0.2, memory_bank_size=(20, 16))
    theirs.memory_bank.bank = negatives.clone()
    theirs.memory_bank.bank_ptr = torch.zeros(1, dtype=torch.int64)
    ours = info_nce(q[None], k[None], negatives[None], 0.2).mean()
    torch.testing.assert_close(ours, theirs(q, k))


# The queue


@pytest.mark.parametrize("batch", [1, 3, 4, 9])
def test_the_queue_holds_the_newest_features_in_order(batch: int) -> None:
    size, width = 7, 2
    memory = new_queue("queue", size, width, torch.zeros(2, 1))
    kept: list[deque[Tensor]] = [deque(maxlen=size) for _ in range(2)]
    for step in range(5):
        features = torch.arange(2 * batch * width).view(2, batch, width) + 1000.0 * step
        enqueue(memory, "queue", features)
        for model in range(2):
            kept[model].extend(features[model])
            expected = torch.stack(list(reversed(kept[model])))
            filled = is_filled(memory, "queue")[model]
            assert int(filled.sum()) == min(size, (step + 1) * batch)
            assert torch.equal(memory["queue.features"][model][filled], expected)


def test_a_queue_of_many_models_fills_for_each_of_them_alone() -> None:
    both = new_queue("queue", 4, 2, torch.zeros(2, 1))
    first = take(both, [0])
    enqueue(first, "queue", torch.ones(1, 3, 2))
    joined = {name: torch.cat([first[name], take(both, [1])[name]]) for name in both}
    assert is_filled(joined, "queue").sum(1).tolist() == [3, 0]


# The learner


def test_without_a_filled_queue_there_is_nothing_to_contrast(small_learner: MakeLearner) -> None:
    learner, state, views = small_learner("moco", queue_size=10)
    memory = learner.memory(state)
    assert learner.loss(state, memory, views, None).item() == pytest.approx(0.0, abs=1e-12)
    assert learner.loss(state, memory, views, None).item() > 0.1


def test_keys_are_contrasted_with_earlier_batches_and_then_queued(
    small_learner: MakeLearner,
) -> None:
    options = {"queue_size": 10, "projector_widths": (8, 4), "temperature": 0.3}
    learner, state, views = small_learner("moco", **options)
    _, other, earlier = small_learner("moco", seed=1, **options)
    memory = learner.memory(other)

    def project(weights: State, x: Tensor) -> Tensor:
        h = torch.relu(x[0].flatten(1) @ weights["encoder.dense.weight"][0].T)
        h = torch.relu(h @ weights["projector.0.weight"][0].T)
        return unit(h @ weights["projector.1.weight"][0].T)

    learner.loss(state, memory, earlier, None)
    old = project(other, earlier[1])
    loss = learner.loss(state, memory, views, None)
    q, k = project(state, views[0]), project(other, views[1])
    expected = info_nce(q[None], k[None], old[None], 0.3).mean()
    torch.testing.assert_close(loss, expected[None])
    queued = torch.cat([k.flip(0), old.flip(0)])[:10]
    torch.testing.assert_close(memory["queue.features"][0], queued)


def test_keys_receive_no_gradient_and_queries_do(small_learner: MakeLearner) -> None:
    learner, state, views = small_learner("moco", queue_size=10)
    memory = learner.memory(state)
    learner.loss(state, memory, views, None)
    for tensors in (state, memory):
        for name, value in tensors.items():
            if value.is_floating_point() and "queue" not in name:
                tensors[name] = value.clone().requires_grad_()
    learner.loss(state, memory, views, None).sum().backward()
    assert all(value.grad is not None and value.grad.any() for value in state.values())
    assert all(value.grad is None for value in memory.values() if value.requires_grad)


def test_the_copy_moves_by_the_momentum_and_the_queue_stays(small_learner: MakeLearner) -> None:
    learner, state, views = small_learner("moco", target_momentum=0.9, queue_size=5)
    memory = learner.memory(state)
    learner.loss(state, memory, views, None)
    before = clone(memory)
    _, moved, _ = small_learner("moco", seed=1)
    learner.update(moved, memory)
    for name, value in memory.items():
        if name in moved:
            torch.testing.assert_close(value, 0.9 * before[name] + 0.1 * moved[name])
        else:
            assert torch.equal(value, before[name])
