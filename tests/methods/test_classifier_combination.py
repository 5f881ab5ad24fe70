"""Combination weights: a case by hand, all supports, and the conditions of a minimum."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fedrepro.methods.federated.personalized.fedpac import (
    combination_weights,
    feature_statistics,
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


def random_quadratic(n: int, rank: int) -> NDArray[np.float64]:
    root = np.random.default_rng(n).standard_normal((rank, n))
    return root.T @ root


def best_of_all_supports(q: NDArray[np.float64]) -> float:
    """The least α'Qα on the simplex: on the inside of each face it solves Qα = μ 1."""
    n, values = len(q), []
    for count in range(1, n + 1):
        for support in map(list, combinations(range(n), count)):
            inner = q[np.ix_(support, support)]
            alpha = np.linalg.solve(inner, np.ones(count))
            alpha /= alpha.sum()
            if (alpha >= 0).all():
                values.append(float(alpha @ inner @ alpha))
    return min(values)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_minimum_is_the_best_of_all_supports(n: int) -> None:
    q = random_quadratic(n, n)
    found = simplex_minimum(q)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert found @ q @ found == pytest.approx(best_of_all_supports(q), rel=1e-9)


@pytest.mark.parametrize(("n", "rank"), [(12, 12), (60, 60), (60, 5), (3, 1)])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_nothing_is_gained_by_moving_weight(n: int, rank: int, scale: float) -> None:
    """Karush, Kuhn and Tucker: the slope is least, and one number, wherever there is weight."""
    q = scale * random_quadratic(n, rank)
    found = simplex_minimum(q)
    slope, least = q @ found, found @ q @ found
    assert (slope >= least - 1e-9 * scale * n).all()
    np.testing.assert_allclose(slope[found > 0], least, rtol=1e-6, atol=1e-9 * scale * n)


def test_a_client_without_variance_relies_on_itself() -> None:
    found = combination_weights(torch.tensor([0.0, 1.0]), torch.tensor([[[0.0]], [[2.0]]]))
    torch.testing.assert_close(found[0], torch.tensor([1.0, 0.0], dtype=torch.float64))


def test_statistics_by_hand() -> None:
    h = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    variance, means = feature_statistics(h, torch.tensor([0, 0, 2, 2]), 3, torch.tensor([0, 2]))
    torch.testing.assert_close(means, torch.tensor([[1.0, 0], [0, 0], [0, 1.0]]).double())
    # Σ_y P(y) E|h|² - P(y)² |E h|² = (1 + 9 + 4 + 4) / 4 - 1 - 1, over n = 4.
    assert float(variance) == pytest.approx((18 / 4 - 2) / 4)
