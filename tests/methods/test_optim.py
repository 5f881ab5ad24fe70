import copy
from collections.abc import Callable

import pytest
import torch

from fedrepro.methods.optim.optimizers import Optimizer, make_optimizer


def channels_innermost(weight: torch.Tensor) -> torch.Tensor:
    return weight.contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("name", ["adam", "adamw"])
@pytest.mark.parametrize("innermost", [False, True])
def test_adam_takes_torchs_steps_whatever_the_order_of_memory(
    innermost: bool, name: str, decay: float
) -> None:
    made = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    first, second = torch.randn(4, 3, 2, 2), torch.randn(5)
    theirs = [first.clone().requires_grad_(), second.clone().requires_grad_()]
    laid_out = channels_innermost(first) if innermost else first.clone()
    ours = [laid_out.requires_grad_(), second.clone().requires_grad_()]
    reference = made(theirs, lr=0.05, weight_decay=decay)
    optimizer = make_optimizer(name, ours, 0.05, weight_decay=decay)
    assert optimizer.param_groups[0]["fused"]
    for step in range(6):
        if step == 3:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = make_optimizer(name, ours, 0.05, weight_decay=decay)
            optimizer.load_state_dict(saved)
        gradient = torch.randn(4, 3, 2, 2)
        laid = channels_innermost(gradient) if step % 2 else gradient
        for weights, own in ((theirs, gradient), (ours, laid)):
            weights[0].grad = own
            # The second weight begins later and pauses, as a layer that is frozen for a while.
            weights[1].grad = torch.ones(5) if step in (1, 2, 5) else None
        for each in (reference, optimizer):
            for group in each.param_groups:
                group["lr"] = 0.05 / (1 + step)
            each.step()
            each.zero_grad(set_to_none=True)
        assert all(weight.grad is None for weight in ours)
        for left, right in zip(ours, theirs, strict=True):
            torch.testing.assert_close(left, right)


def steps(
    make: Callable[[list[torch.Tensor]], Optimizer], start: torch.Tensor, gaps: bool
) -> torch.Tensor:
    """Where five steps lead that fall towards ones; with `gaps`, in every second column alone."""
    held = start.repeat_interleave(2, dim=1)[:, ::2] if gaps else start.clone()
    weights = held.detach().requires_grad_()
    optimizer = make([weights])
    for _ in range(5):
        optimizer.zero_grad(set_to_none=True)
        ((weights - 1) ** 2).sum().backward()
        optimizer.step()
    return weights.detach()


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("decay", [0.0, 0.2])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_every_optimizer_reads_what_it_is_given_as_torchs_does(
    name: str, momentum: float, decay: float, gaps: bool
) -> None:
    """Zero means none: torch's own weight decay of AdamW is 0.01."""

    def theirs(weights: list[torch.Tensor]) -> Optimizer:
        if name == "sgd":
            return torch.optim.SGD(weights, lr=0.05, momentum=momentum, weight_decay=decay)
        made = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
        return made(weights, lr=0.05, weight_decay=decay)

    start = 3 + torch.randn(4, 6)
    found = steps(lambda w: make_optimizer(name, w, 0.05, momentum, decay), start, gaps)
    torch.testing.assert_close(found, steps(theirs, start, gaps=False))


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
