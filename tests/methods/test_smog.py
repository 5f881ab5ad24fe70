from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.clusters.kmeans import group_means
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.objectives.smog import GROUPS, moved, similarities
from fedrepro.methods.state import State, clone
from tests.methods.conftest import MakeLearner
from tests.whole_torchvision import ensure_torchvision


def projected(learner: Any, state: State, x: Tensor) -> Tensor:
    h = learner.encoder(state, x, training=True)
    z: Tensor = learner.projector(state, h, training=True)
    return z


def test_group_means_equal_a_plain_loop_and_empty_groups_are_zero() -> None:
    x, group = torch.randn(3, 9, 4), torch.randint(5, (3, 9))
    means, sizes = group_means(x, group, 6)
    for model in range(3):
        for g in range(6):
            members = [row for row, name in zip(x[model], group[model], strict=True) if name == g]
            assert sizes[model, g] == len(members)
            expected = torch.stack(members).mean(0) if members else torch.zeros(4)
            torch.testing.assert_close(means[model, g], expected)


def test_one_step_of_the_group_momentum_by_hand() -> None:
    """Two features nearest to the first group, one nearest to the second, none to the third."""
    groups = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]])
    x = torch.tensor([[[2.0, 1.0], [4.0, 1.0], [0.0, 3.0]]])
    expected = torch.tensor([[[0.9 * 1 + 0.1 * 3, 0.1 * 1], [0.0, 0.9 + 0.1 * 3], [-1.0, -1.0]]])
    torch.testing.assert_close(moved(groups, x, 0.9), expected)


def test_gradients_reach_a_group_through_its_new_members_alone() -> None:
    groups = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]], requires_grad=True)
    x = torch.tensor([[[2.0, 1.0], [4.0, 1.0], [0.0, 3.0]]], requires_grad=True)
    moved(groups, x, 0.9)[0, 0, 0].backward()
    assert x.grad is not None
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


def test_the_loss_equals_a_plain_loop_over_its_definition(small_learner: MakeLearner) -> None:
    learner, state, views = small_learner("smog", n_groups=4, temperature=0.3, group_momentum=0.5)
    memory = learner.memory(state)
    groups, kept = state[GROUPS][0].clone(), clone(state)
    loss = learner.loss(state, memory, views, None)

    z = projected(learner, kept, views[0])
    p = learner.predictor(kept, z, training=True)[0]  # type: ignore[attr-defined]
    other = projected(learner, kept, views[1])[0]

    def cosine(a: Tensor, b: Tensor) -> float:
        return float((a * b).sum() / a.norm() / b.norm())

    def nearest(a: Tensor) -> int:
        return max(range(4), key=lambda g: cosine(a, groups[g]))

    after = groups.clone()
    for g in range(4):
        members = [row for row in z[0] if nearest(row) == g]
        if members:
            after[g] = 0.5 * groups[g] + 0.5 * torch.stack(members).mean(0)
    total = 0.0
    for predicted, seen in zip(p, other, strict=True):
        exponentials = [math.exp(cosine(predicted, g) / 0.3) for g in after]
        total -= math.log(exponentials[nearest(seen)] / sum(exponentials))
    assert loss.item() == pytest.approx(total / len(p), abs=1e-9)
    torch.testing.assert_close(state[GROUPS][0], after.detach())


def test_the_copy_receives_no_gradient_and_the_trained_weights_do(
    small_learner: MakeLearner,
) -> None:
    learner, state, views = small_learner("smog", n_groups=4)
    memory = learner.memory(state)
    for tensors in (state, memory):
        for name, value in tensors.items():
            if not is_buffer(name):
                value.requires_grad_()
    learner.loss(state, memory, views, None).sum().backward()
    trained = [value for name, value in state.items() if not is_buffer(name)]
    assert all(value.grad is not None and value.grad.any() for value in trained)
    assert all(value.grad is None for value in memory.values())
    assert not state[GROUPS].requires_grad


def test_the_copy_moves_by_the_momentum(small_learner: MakeLearner) -> None:
    learner, state, _ = small_learner("smog", target_momentum=0.9)
    memory = learner.memory(state)
    before = clone(memory)
    _, other, _ = small_learner("smog", seed=1)
    learner.update(other, memory)
    for name, value in memory.items():
        if not is_buffer(name):
            torch.testing.assert_close(value, 0.9 * before[name] + 0.1 * other[name])


def test_training_groups_alike_images_together(small_learner: MakeLearner) -> None:
    """Two kinds of image end up in different groups, and both views of an image in the same."""
    learner, state, _ = small_learner("smog", n_groups=4, target_momentum=0.9)
    stream = torch.Generator().manual_seed(1)
    kind = torch.arange(24) % 2
    image = torch.zeros(24, 3, 4, 4, dtype=torch.float64)
    image[kind == 0, 0], image[kind == 1, 2] = 1.0, 1.0

    def look() -> Tensor:
        noise = torch.rand(image.shape, generator=stream, dtype=torch.float64)
        return (image + 0.2 * noise)[None]

    weights = [value.requires_grad_() for name, value in state.items() if not is_buffer(name)]
    memory, steps = learner.memory(state), torch.optim.Adam(weights, lr=0.01)
    for _ in range(60):
        steps.zero_grad()
        learner.loss(state, memory, [look(), look()], None).sum().backward()
        steps.step()
        learner.update(state, memory)
    with torch.no_grad():
        z = [projected(learner, state, look()) for _ in range(2)]
    first, second = (similarities(each, state[GROUPS])[0].argmax(1) for each in z)
    assert (first == second).double().mean() > 0.9
    assert not set(first[kind == 0].tolist()) & set(first[kind == 1].tolist())
    assert F.normalize(state[GROUPS], dim=2).isfinite().all()
