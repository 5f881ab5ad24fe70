"""FedPAC's combination of classifiers: how much of every client's is best for one of them.

Paper: Xu et al. 2023, "Personalized federated learning with feature alignment and classifier
collaboration", Section 4.3: for client i the weights α on the simplex minimise
Σ_j α_j² V_j + Σ_jl α_j α_l Σ_y (h_i,y - h_j,y)·(h_i,y - h_l,y), the variance and the squared bias
of the combined classifier; h_j,y is P_j(y) times the mean feature of class y, V_j the variance of
a client's estimate.
Unstated: the solver (scipy's non-negative least squares); weights below 0.001 are set to 0
afterwards.
Evidence: `tests/methods/test_classifier_combination.py` (every support tried, the conditions of
Karush, Kuhn and Tucker, a case by hand).
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

SMALLEST = 1e-3


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
    flat = means.double().flatten(1)  # clients x (classes dim)
    # (h_i - h_j)·(h_i - h_l) from inner products, without clients x clients x features in memory.
    inner = flat @ flat.t()  # clients x clients
    own = inner.diagonal().view(-1, 1, 1)
    bias = own - inner.unsqueeze(1) - inner.unsqueeze(2) + inner  # clients x clients x clients
    quadratic = (torch.diag(variance.double()) + bias).cpu().numpy()
    found = np.stack([simplex_minimum(q) for q in quadratic])
    weights = np.where(found > SMALLEST, found, 0.0)
    return torch.from_numpy(weights / weights.sum(axis=1, keepdims=True))


def simplex_minimum(quadratic: NDArray[np.float64]) -> NDArray[np.float64]:
    """The α (n) with α >= 0 and sum 1 that minimises α'Qα; Q: n x n, positive semidefinite.

    For x >= 0, x = s α, least squares on x'Qx + w² (Σx - 1)² have the same α whatever w > 0 is: the
    best s leaves w² f / (f + w²) of f = α'Qα, which is least where f is.
    """
    values, vectors = np.linalg.eigh(quadratic)
    root = np.sqrt(values.clip(min=0))[:, None] * vectors.T  # n x n, root' root = Q
    weight = np.sqrt(np.trace(quadratic) / len(quadratic)) or 1.0
    rows = np.vstack([root, np.full(len(quadratic), weight)])  # (n + 1) x n
    x, _ = nnls(rows, np.append(np.zeros(len(quadratic)), weight))
    share: NDArray[np.float64] = x / x.sum()
    return share
