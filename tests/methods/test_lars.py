"""LARS against its update rule in plain numbers."""

from __future__ import annotations

import pytest
import torch

from fedrepro.methods.optim.optimizers import make_optimizer


def by_hand(
    start: torch.Tensor,
    target: torch.Tensor,
    steps: int,
    adapted: bool,
    lr: float = 0.5,
    decay: float = 1e-6,
) -> torch.Tensor:
    w, v = start.clone(), torch.zeros_like(start)
    for _ in range(steps):
        g = 2 * (w - target)
        ratio = 1.0
        if adapted:
            g = g + decay * w
            ratio = 1e-3 * float((w**2).sum() ** 0.5) / float((g**2).sum() ** 0.5)
        v = 0.9 * v + lr * ratio * g
        w = w - v
    return w


def trained(
    start: torch.Tensor, target: torch.Tensor, lr: float = 0.5, decay: float | None = None
) -> torch.Tensor:
    weights = start.clone().requires_grad_()
    optimizer = make_optimizer("lars", [weights], lr, weight_decay=decay)
    for _ in range(5):
        optimizer.zero_grad(set_to_none=True)
        ((weights - target) ** 2).sum().backward()
        optimizer.step()
    return weights.detach()


def test_matrices_move_by_a_share_of_their_norm_in_every_model_alone() -> None:
    start = torch.randn(3, 4, 5, dtype=torch.float64) * torch.tensor([1.0, 10, 100]).view(3, 1, 1)
    target = torch.randn(3, 4, 5, dtype=torch.float64)
    found = trained(start, target)
    for model in range(3):
        torch.testing.assert_close(found[model], by_hand(start[model], target[model], 5, True))


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_weight_decay_is_the_one_given_and_zero_is_none(decay: float) -> None:
    # Weights so large beside their gradients that LARS's own 1e-6 would turn the steps.
    start = 1e6 * torch.randn(4, 5, dtype=torch.float64)
    target = start + torch.randn(4, 5, dtype=torch.float64)
    expected = by_hand(start, target, 5, True, decay=decay)
    assert not torch.allclose(expected, by_hand(start, target, 5, True))
    torch.testing.assert_close(trained(start[None], target[None], decay=decay)[0], expected)


def test_vectors_take_plain_steps_with_momentum() -> None:
    start, target = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close(trained(start, target, 0.05), by_hand(start, target, 5, False, 0.05))


def test_weights_that_are_all_zero_still_move() -> None:
    start, target = torch.zeros(1, 2, 2), torch.ones(1, 2, 2)
    assert float(trained(start, target, 0.05).abs().sum()) > 0
