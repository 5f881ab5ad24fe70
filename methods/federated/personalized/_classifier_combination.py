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
CLOSE = 1e-9


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
    # (h_i - h_j)·(h_i - h_l) from inner products, without clients x clients x features in memory.
    inner = flat @ flat.t()
    own = inner.diagonal().view(-1, 1, 1)
    bias = own - inner.unsqueeze(1) - inner.unsqueeze(2) + inner
    return simplex_minimum(torch.diag(variance.double()) + bias)


def simplex_minimum(quadratic: Tensor) -> Tensor:
    """The α with α >= 0 and sum 1 that minimises α' Q α; Q ... x n x n, positive semidefinite.

    Returns ... x n.
    """
    n = quadratic.shape[-1]
    bound = 2 * torch.linalg.matrix_norm(quadratic, 2).unsqueeze(-1).clamp(min=1e-30)
    point = ahead = torch.full_like(quadratic[..., 0], 1 / n)
    pace = 1.0
    for _ in range(STEPS):
        slope = 2 * (quadratic @ ahead.unsqueeze(-1)).squeeze(-1)
        new = onto_simplex(ahead - slope / bound)
        faster = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = new + (pace - 1) / faster * (new - point)
        moved = float((new - point).abs().max())
        point, pace = new, faster
        if moved < CLOSE:
            break
    kept = torch.where(point > SMALLEST, point, 0.0)
    return kept / kept.sum(-1, keepdim=True)


def onto_simplex(x: Tensor) -> Tensor:
    """The nearest vectors, along the last dimension, with entries >= 0 and sum 1."""
    falling = x.sort(dim=-1, descending=True).values
    excess = falling.cumsum(-1) - 1
    number = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=x.device)
    last = (falling - excess / number > 0).sum(-1, keepdim=True)
    return (x - excess.gather(-1, last - 1) / last).clamp(min=0)
