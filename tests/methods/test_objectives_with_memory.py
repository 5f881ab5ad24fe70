import math
from collections import deque
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fedrepro.methods.clusters.balanced_clustering import sinkhorn
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.objectives._memory import enqueue, is_filled, new_queue, unit
from fedrepro.methods.objectives.moco import info_nce
from fedrepro.methods.objectives.smog import GROUPS, moved, similarities
from fedrepro.methods.objectives.swav import PROTOTYPES, swapped_prediction
from fedrepro.methods.state import State, clone, take
from tests.methods.conftest import cosine, small_learner
from tests.whole_torchvision import ensure_torchvision


def vectors(*shape: int) -> Tensor:
    return unit(torch.randn(*shape, dtype=torch.float64))


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


def test_the_loss_equals_that_of_lightly() -> None:
    ensure_torchvision()
    loss = pytest.importorskip("lightly.loss")
    q, k, negatives = vectors(9, 16).float(), vectors(9, 16).float(), vectors(20, 16).float()
    theirs = loss.NTXentLoss(temperature=0.2, memory_bank_size=(20, 16))
    theirs.memory_bank.bank = negatives.clone()
    theirs.memory_bank.bank_ptr = torch.zeros(1, dtype=torch.int64)
    ours = info_nce(q[None], k[None], negatives[None], 0.2).mean()
    torch.testing.assert_close(ours, theirs(q, k))


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


def test_without_a_filled_queue_there_is_nothing_to_contrast() -> None:
    learner, state, views = small_learner("moco", queue_size=10)
    memory = learner.memory(state)
    assert learner.loss(state, memory, views, None).item() == pytest.approx(0.0, abs=1e-12)
    assert learner.loss(state, memory, views, None).item() > 0.1


def test_keys_are_contrasted_with_earlier_batches_and_then_queued() -> None:
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


@pytest.mark.parametrize(
    ("name", "options"), [("moco", {"queue_size": 10}), ("smog", {"n_groups": 4})]
)
def test_the_copy_receives_no_gradient_and_the_trained_weights_do(
    name: str, options: dict[str, int]
) -> None:
    learner, state, views = small_learner(name, **options)
    memory = learner.memory(state)
    learner.loss(state, memory, views, None)
    for tensors in (state, memory):
        for key, value in tensors.items():
            if value.is_floating_point() and "queue" not in key and not is_buffer(key):
                tensors[key] = value.clone().requires_grad_()
    learner.loss(state, memory, views, None).sum().backward()
    trained = [value for key, value in state.items() if not is_buffer(key)]
    assert all(value.grad is not None and value.grad.any() for value in trained)
    assert all(value.grad is None for value in memory.values() if value.requires_grad)
    assert GROUPS not in state or not state[GROUPS].requires_grad


@pytest.mark.parametrize(("objective", "options"), [("moco", {"queue_size": 5}), ("smog", {})])
def test_the_copy_moves_by_the_momentum_and_all_else_stays(
    objective: str, options: dict[str, int]
) -> None:
    learner, state, views = small_learner(objective, target_momentum=0.9, **options)
    memory = learner.memory(state)
    learner.loss(state, memory, views, None)
    before = clone(memory)
    _, moved, _ = small_learner(objective, seed=1)
    learner.update(moved, memory)
    for name, value in memory.items():
        if name in moved and not is_buffer(name):
            torch.testing.assert_close(value, 0.9 * before[name] + 0.1 * moved[name])
        else:
            assert torch.equal(value, before[name])


def projected(learner: Any, state: State, x: Tensor) -> Tensor:
    h = learner.encoder(state, x, training=True)
    z: Tensor = learner.projector(state, h, training=True)
    return z


def test_gradients_reach_a_group_through_its_new_members_alone() -> None:
    groups = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]], requires_grad=True)
    x = torch.tensor([[[2.0, 1.0], [4.0, 1.0], [0.0, 3.0]]], requires_grad=True)
    moved(groups, x, 0.9)[0, 0, 0].backward()
    torch.testing.assert_close(x.grad[0, :, 0], torch.tensor([0.05, 0.05, 0.0]))


def test_groups_assignments_and_logits_are_lightlys() -> None:
    ensure_torchvision()
    heads = pytest.importorskip("lightly.models.modules.heads")
    groups, x, other = torch.randn(6, 5), torch.randn(20, 5), torch.randn(20, 5)
    theirs = heads.SMoGPrototypes(groups.clone(), beta=0.9)
    after = theirs.get_updated_group_features(x)
    torch.testing.assert_close(moved(groups[None], x[None], 0.9)[0], after)
    assert torch.equal(
        similarities(other[None], groups[None])[0].argmax(1), theirs.assign_groups(other)
    )
    torch.testing.assert_close(
        similarities(other[None], after[None])[0] / 0.2, theirs(other, after, temperature=0.2)
    )


def test_the_loss_equals_a_plain_loop_over_its_definition() -> None:
    learner, state, views = small_learner("smog", n_groups=4, temperature=0.3, group_momentum=0.8)
    memory = learner.memory(state)
    groups, kept = state[GROUPS][0].clone(), clone(state)
    loss = learner.loss(state, memory, views, None)

    z = projected(learner, kept, views[0])
    p = learner.predictor(kept, z, training=True)[0]  # type: ignore[attr-defined]
    other = projected(learner, kept, views[1])[0]

    def nearest(a: Tensor) -> int:
        return max(range(4), key=lambda g: cosine(a, groups[g]))

    after = groups.clone()
    for g in range(4):
        members = [row for row in z[0] if nearest(row) == g]
        if members:
            after[g] = 0.8 * groups[g] + 0.2 * torch.stack(members).mean(0)
    total = 0.0
    for predicted, seen in zip(p, other, strict=True):
        exponentials = [math.exp(cosine(predicted, g) / 0.3) for g in after]
        total -= math.log(exponentials[nearest(seen)] / sum(exponentials))
    assert loss.item() == pytest.approx(total / len(p), abs=1e-9)
    torch.testing.assert_close(state[GROUPS][0], after.detach())


def test_the_swapped_prediction_equals_a_plain_loop_over_equation_2() -> None:
    scores = torch.randn(2, 5, 3, dtype=torch.float64)
    codes = torch.rand(2, 5, 3, dtype=torch.float64).softmax(2)
    losses = swapped_prediction(scores, codes, 0.1)
    for model in range(2):
        total = 0.0
        for s, q in zip(scores[model], codes[model], strict=True):
            exponentials = [math.exp(float(value) / 0.1) for value in s]
            p = [e / sum(exponentials) for e in exponentials]
            total -= sum(
                float(share) * math.log(chance) for share, chance in zip(q, p, strict=True)
            )
        assert losses[model].item() == pytest.approx(total / 5, abs=1e-9)


def test_the_loss_equals_that_of_lightly_of_swav() -> None:
    ensure_torchvision()
    loss = pytest.importorskip("lightly.loss")
    learner, state, views = small_learner("swav", prototypes=4)
    ours = learner.loss(state, {}, views, None)
    z = [unit(learner.projector(state, learner.encoder(state, x), training=True)) for x in views]  # type: ignore[attr-defined]
    scores = [(each @ unit(state[PROTOTYPES]).transpose(1, 2))[0] for each in z]
    torch.testing.assert_close(ours, loss.SwaVLoss()(scores, []), atol=1e-6, rtol=1e-6)


def test_queued_features_share_the_prototypes_with_the_batch() -> None:
    options = {"prototypes": 4, "queue_size": 9, "normalised_layers": 0}
    learner, state, views = small_learner("swav", **options)
    earlier = small_learner("swav", seed=1)[2]
    memory = learner.memory(state)
    learner.loss(state, memory, earlier, None)
    loss = learner.loss(state, memory, views, None)

    def scores_of(x: Tensor) -> Tensor:
        z = unit(learner.projector(state, learner.encoder(state, x)))  # type: ignore[attr-defined]
        return torch.bmm(z, state[PROTOTYPES].transpose(1, 2))

    expected = torch.zeros(1, dtype=torch.float64)
    for view in range(2):
        both = torch.cat([scores_of(views[view]), scores_of(earlier[view])], dim=1)
        codes = sinkhorn(both, 0.05, 3)[:, :7]
        expected += swapped_prediction(scores_of(views[1 - view]), codes, 0.1) / 2
    torch.testing.assert_close(loss, expected)
    assert memory["queue0.filled"].tolist() == [9]


def test_prototypes_are_brought_to_length_one_and_trained() -> None:
    learner, state, views = small_learner("swav", prototypes=4)
    state[PROTOTYPES] = (state[PROTOTYPES] * 3).requires_grad_()
    learner.loss(state, {}, views, None).sum().backward()
    lengths = state[PROTOTYPES].detach().norm(dim=2)
    torch.testing.assert_close(lengths, torch.ones_like(lengths))
    assert bool(state[PROTOTYPES].grad.any())  # type: ignore[union-attr]


def test_the_loss_equals_a_plain_loop_over_the_four_turns() -> None:
    learner, state, views = small_learner("rotation", models=2)
    losses = learner.loss(state, {}, views[:1], None)
    for model in range(2):
        own = {name: value[model] for name, value in state.items()}
        total = 0.0
        for image in views[0][model]:
            for turns in range(4):
                x = torch.from_numpy(np.rot90(image.numpy(), turns, axes=(1, 2)).copy())
                h = (own["encoder.dense.weight"] @ x.flatten() + own["encoder.dense.bias"]).clamp(0)
                logits = (own["rotation.0.weight"] @ h + own["rotation.0.bias"]).tolist()
                total += math.log(sum(math.exp(a) for a in logits)) - logits[turns]
        assert losses[model].item() == pytest.approx(total / 28, abs=1e-12)
