import pytest
import torch

from methods.optim import make_optimizer


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
    torch.testing.assert_close(trained("sgd", start, target, momentum=0.9), w)


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_stacked_models_step_as_they_would_alone(name: str) -> None:
    start, target = torch.randn(4, 5), torch.randn(4, 5)
    alone = [trained(name, start[i : i + 1], target[i : i + 1]) for i in range(4)]
    torch.testing.assert_close(trained(name, start, target), torch.cat(alone))


def test_an_unknown_name_is_refused_by_naming_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'adma' is not known \(known: adam, adamw, lars, sgd\)"):
        make_optimizer("adma", [torch.zeros(1, requires_grad=True)], 0.1)
