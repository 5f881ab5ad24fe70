import copy
from collections.abc import Callable

import pytest
import torch

from fedrepro.methods.optim.optimizers import Optimizer, make_optimizer


def trained(name: str, start: torch.Tensor, target: torch.Tensor, **options: float) -> torch.Tensor:
    weights = start.clone().requires_grad_()
    optimizer = make_optimizer(name, [weights], 0.05, **options)
    for _ in range(7):
        optimizer.zero_grad(set_to_none=True)
        ((weights - target) ** 2).sum().backward()
        optimizer.step()
    return weights.detach()


def test_adam_follows_the_published_update_rule() -> None:
    start, target = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    w, m, v = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    for t in range(1, 8):
        g = 2 * (w - target)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - 0.05 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    torch.testing.assert_close(trained("adam", start, target), w)


def test_sgd_with_momentum_follows_the_published_update_rule() -> None:
    start, target = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    w, buffer = start.clone(), torch.zeros_like(start)
    for _ in range(7):
        buffer = 0.9 * buffer + 2 * (w - target)
        w = w - 0.05 * buffer
    torch.testing.assert_close(trained("sgd", start, target, sgd_momentum=0.9), w)


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


def test_weights_with_gaps_between_them_are_left_to_torch() -> None:
    table = torch.randn(4, 6)
    weights = table[:, ::2].requires_grad_()
    optimizer = make_optimizer("adam", [weights], 0.1)
    assert not optimizer.param_groups[0].get("fused")


def test_plain_sgd_moves_weights_with_gaps_between_them() -> None:
    weights = torch.zeros(4, 6)[:, ::2].requires_grad_()
    gradient = torch.arange(12.0).view(4, 3)
    optimizer = make_optimizer("sgd", [weights], 0.5)
    (weights * gradient).sum().backward()
    optimizer.step()
    torch.testing.assert_close(weights.detach(), -0.5 * gradient)


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


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_who_says_nothing_of_weight_decay_has_none(name: str) -> None:
    start = torch.randn(4, 6)
    silent = steps(lambda w: make_optimizer(name, w, 0.05), start, gaps=False)
    assert torch.equal(
        silent, steps(lambda w: make_optimizer(name, w, 0.05, 0.0, 0.0), start, False)
    )


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_stacked_models_step_as_they_would_alone(name: str) -> None:
    start, target = torch.randn(4, 5), torch.randn(4, 5)
    alone = [trained(name, start[i : i + 1], target[i : i + 1]) for i in range(4)]
    torch.testing.assert_close(trained(name, start, target), torch.cat(alone))


def test_an_unknown_name_is_refused_by_naming_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'adma' is not known \(known: adam, adamw, lars, sgd\)"):
        make_optimizer("adma", [torch.zeros(1, requires_grad=True)], 0.1)
