"""Clusters of equal size: Sinkhorn's algorithm, and Orchestra's local and global clustering.

Papers: Caron et al. 2020 (SwAV), Section 3.1, Eqs. 3 to 5, after Cuturi 2013. The matrix
exp(scores / ε) is scaled until every prototype has the same mass and every sample has mass one.
This is done in logarithms, so that no ε underflows. Lubana et al. 2022 (Orchestra), Section 4 and
Algorithm 1: centroids move to the normalised means of representations that are assigned in this
way.
Unstated for Orchestra: how many steps (5) and the sharpness of the assignments (0.05).
Evidence: `tests/methods/test_clusters.py` (marginals, a plain loop, scipy's optimum, lightly).
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


@torch.no_grad()
def sinkhorn(
    scores: Tensor, epsilon: float, iterations: int = 3, valid: Tensor | None = None
) -> Tensor:
    """Assignments models x samples x prototypes of `scores` (same shape); each sample's sum is 1.
    `valid`: bool, models x samples; those that count in the balance (at least one). None: all."""
    log_q = scores / epsilon
    for _ in range(iterations):
        sharing = log_q if valid is None else log_q.masked_fill(~valid.unsqueeze(2), -math.inf)
        log_q = log_q - sharing.logsumexp(1, keepdim=True)
        log_q = log_q - log_q.logsumexp(2, keepdim=True)
    return log_q.exp()


@torch.no_grad()
def balanced_centroids(
    z: Tensor,
    n_clusters: int,
    generator: torch.Generator,
    start: Tensor | None = None,
    steps: int = 5,
    epsilon: float = 0.05,
) -> Tensor:
    """Centroids n_clusters x width, of length one, of the unit vectors `z`, n x width. `start`:
    where they begin; None draws them from `z`. Raises `ValueError` if `z` is empty."""
    n = len(z)
    if n == 0:
        raise ValueError("nothing can be clustered")
    centroids = start
    if centroids is None:
        order = torch.randperm(n, generator=generator)
        chosen = order[torch.arange(n_clusters) % n]
        centroids = z[chosen.to(z.device, non_blocking=True)]
    for _ in range(steps):
        shares = assignments(z, centroids, epsilon)
        centroids = F.normalize(shares.t() @ z, dim=1)
    return centroids


def assignments(
    z: Tensor, centroids: Tensor, epsilon: float = 0.05, iterations: int = 10
) -> Tensor:
    """Soft assignments n x clusters; rows have sum 1, columns nearly n / clusters."""
    return sinkhorn((z @ centroids.t()).unsqueeze(0), epsilon, iterations)[0]
