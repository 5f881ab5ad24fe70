import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from fedrepro.methods.clusters.balanced_clustering import sinkhorn
from tests.whole_torchvision import ensure_torchvision


def by_division(scores: Tensor, epsilon: float, iterations: int) -> Tensor:
    """Eq. 5 as in the paper's listing: rows to 1/K, columns to 1/B, at last columns to 1."""
    q = (scores / epsilon).exp()
    samples, prototypes = q.shape
    for _ in range(iterations):
        for k in range(prototypes):
            q[:, k] /= q[:, k].sum() * prototypes
        for b in range(samples):
            q[b] /= q[b].sum() * samples
    return q * samples


@pytest.mark.parametrize("iterations", [1, 3, 10])
def test_assignments_equal_a_plain_loop_of_divisions(iterations: int) -> None:
    scores = torch.rand(2, 6, 4, dtype=torch.float64) * 2 - 1
    codes = sinkhorn(scores, 0.2, iterations)
    for model in range(2):
        torch.testing.assert_close(codes[model], by_division(scores[model], 0.2, iterations))


def test_samples_have_mass_one_and_prototypes_share_it_equally() -> None:
    scores = torch.randn(3, 12, 4, dtype=torch.float64)
    codes = sinkhorn(scores, 0.3, 500)
    torch.testing.assert_close(codes.sum(2), torch.ones(3, 12, dtype=torch.float64))
    shares = torch.full((3, 4), 3.0, dtype=torch.float64)
    torch.testing.assert_close(codes.sum(1), shares, atol=1e-9, rtol=0)


def test_assignments_are_the_optimum_of_the_regularised_transport() -> None:
    """Eq. 3: the largest tr(QC) + εH(Q) among tables with these marginals, found by scipy."""
    scores = torch.rand(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    s, epsilon = scores.numpy(), 0.3

    def loss(flat):  # type: ignore[no-untyped-def]
        q = flat.reshape(4, 2).clip(1e-12)
        return float(-(q * s).sum() + epsilon * (q * np.log(q)).sum())

    marginals = [
        {"type": "eq", "fun": lambda f, b=b: f.reshape(4, 2)[b].sum() - 0.25} for b in range(4)
    ] + [{"type": "eq", "fun": lambda f: f.reshape(4, 2)[:, 0].sum() - 0.5}]
    best = minimize(loss, [0.125] * 8, bounds=[(0, 1)] * 8, constraints=marginals, tol=1e-12)
    expected = torch.from_numpy(best.x.reshape(4, 2) * 4)
    torch.testing.assert_close(sinkhorn(scores[None], epsilon, 500)[0], expected, atol=1e-4, rtol=0)


def test_samples_that_are_not_valid_have_no_part_in_the_balance() -> None:
    scores = torch.randn(2, 9, 3, dtype=torch.float64)
    valid = torch.zeros(2, 9, dtype=torch.bool)
    valid[0, :5], valid[1, :8] = True, True
    codes = sinkhorn(scores, 0.5, 4, valid)
    torch.testing.assert_close(codes[:1, :5], sinkhorn(scores[:1, :5], 0.5, 4))
    torch.testing.assert_close(codes[1:, :8], sinkhorn(scores[1:, :8], 0.5, 4))
    assert bool(codes.isfinite().all())


def test_a_tiny_epsilon_does_not_underflow() -> None:
    codes = sinkhorn(torch.randn(1, 20, 5) * 10, 0.001, 3)
    assert bool(codes.isfinite().all())
    torch.testing.assert_close(codes.sum(2), torch.ones(1, 20))


def test_assignments_equal_those_of_lightly() -> None:
    ensure_torchvision()
    swav = pytest.importorskip("lightly.loss.swav_loss")
    scores = torch.rand(10, 4) * 2 - 1
    theirs = swav.sinkhorn(scores, iterations=3, epsilon=0.05)
    torch.testing.assert_close(sinkhorn(scores[None], 0.05, 3)[0], theirs, atol=1e-5, rtol=1e-4)
