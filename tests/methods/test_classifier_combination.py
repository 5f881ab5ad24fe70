"""Combination weights against scipy's solver and a case by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from fedrepro.methods.federated.personalized._classifier_combination import (
    combination_weights,
    feature_statistics,
    onto_simplex,
    simplex_minimum,
)


def test_two_clients_by_hand() -> None:
    # One class, one feature: h = 0 and 2, V = 1 and 3. For client 0, Q = diag(1, 3) + diag(0, 4):
    # α² + 7 (1 - α)² is least at α = 7/8. For client 1, Q = diag(5, 3): α = 3/8 and 5/8.
    found = combination_weights(torch.tensor([1.0, 3.0]), torch.tensor([[[0.0]], [[2.0]]]))
    expected = torch.tensor([[7 / 8, 1 / 8], [3 / 8, 5 / 8]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_a_client_keeps_its_own_where_others_are_far_away() -> None:
    means = torch.tensor([[[0.0]], [[1000.0]], [[900.0]]])
    found = combination_weights(torch.ones(3), means)
    assert float(found[0, 0]) > 0.99


@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_minimum_is_scipys(n: int) -> None:
    stream = torch.Generator().manual_seed(n)
    root = torch.randn(n, n, generator=stream, dtype=torch.float64)
    q = root @ root.t()
    found = simplex_minimum(q)
    theirs = minimize(
        lambda a: a @ q.numpy() @ a,
        np.full(n, 1 / n),
        jac=lambda a: 2 * q.numpy() @ a,
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert float(found.sum()) == pytest.approx(1)
    assert bool((found >= 0).all())
    assert float(found @ q @ found) <= theirs.fun * (1 + 1e-2) + 1e-6


def test_projection_onto_the_simplex_is_nearest() -> None:
    stream = torch.Generator().manual_seed(0)
    for _ in range(20):
        x = torch.randn(4, generator=stream, dtype=torch.float64) * 2
        found = onto_simplex(x)
        assert float(found.sum()) == pytest.approx(1)
        others = torch.distributions.Dirichlet(torch.ones(4, dtype=torch.float64)).sample((200,))
        assert bool(((others - x).norm(dim=1) >= (found - x).norm() - 1e-9).all())


def test_statistics_by_hand() -> None:
    h = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    variance, means = feature_statistics(h, torch.tensor([0, 0, 2, 2]), 3)
    torch.testing.assert_close(means, torch.tensor([[1.0, 0], [0, 0], [0, 1.0]]).double())
    # Σ_y P(y) E|h|² - P(y)² |E h|² = (1 + 9 + 4 + 4) / 4 - 1 - 1, over n = 4.
    assert float(variance) == pytest.approx((18 / 4 - 2) / 4)
