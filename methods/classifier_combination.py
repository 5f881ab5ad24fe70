"""FedPAC's combination of classifiers: how much of every client's is best for one of them.

Paper: Xu et al. 2023, "Personalized federated learning with feature alignment and classifier
collaboration", Section 4.3: for client i the weights α on the simplex minimise
Σ_j α_j² V_j + Σ_jl α_j α_l Σ_y (h_i,y - h_j,y)·(h_i,y - h_l,y), the variance and the squared bias
of the combined classifier; h_j,y is P_j(y) times the mean feature of class y, V_j the variance of
a client's estimate.
Unstated: the solver (accelerated projected gradients); weights below 0.001 are set to 0 afterwards.
Evidence: `tests/methods/test_classifier_combination.py` (scipy's solver, a case by hand).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

SMALLEST = 1e-3
STEPS = 2000


def feature_statistics(h: Tensor, labels: Tensor, n_classes: int) -> tuple[Tensor, Tensor]:
    """V (a number) and P(y) E[h | y] (classes x dim) of one client's features, n x dim, float64."""
    h, n = h.double(), len(h)
    member = F.one_hot(labels, n_classes).double()
    weighted = member.t() @ h / n
    share = member.mean(0)
    # |P(y) E[h | y]|² is what the paper writes as P(y)² |E[h | y]|².
    spread = h.square().sum(1).mean() - weighted[share > 0].square().sum()
    return spread / n, weighted


def combination_weights(variance: Tensor, means: Tensor) -> Tensor:
    """Row i: the weights with which client i takes the clients' classifiers, clients x clients.

    variance: (clients,). means: clients x classes x dim.
    """
    flat = means.double().flatten(1)
    rows = []
    for own in flat:
        away = own - flat
        rows.append(simplex_minimum(torch.diag(variance.double()) + away @ away.t()))
    return torch.stack(rows)


def simplex_minimum(quadratic: Tensor) -> Tensor:
    """The α with α >= 0 and sum 1 that minimises α' Q α; Q n x n, positive semidefinite."""
    n = len(quadratic)
    bound = 2 * float(torch.linalg.matrix_norm(quadratic, 2))
    point = ahead = torch.full((n,), 1 / n, dtype=quadratic.dtype, device=quadratic.device)
    if bound == 0:
        return point
    pace = 1.0
    for _ in range(STEPS):
        new = onto_simplex(ahead - 2 * quadratic @ ahead / bound)
        faster = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = new + (pace - 1) / faster * (new - point)
        point, pace = new, faster
    kept = torch.where(point > SMALLEST, point, 0.0)
    return kept / kept.sum()


def onto_simplex(x: Tensor) -> Tensor:
    """The nearest vector with entries >= 0 and sum 1."""
    falling = x.sort(descending=True).values
    excess = falling.cumsum(0) - 1
    number = torch.arange(1, len(x) + 1, dtype=x.dtype, device=x.device)
    last = int((falling - excess / number > 0).sum())
    return (x - excess[last - 1] / last).clamp(min=0)
