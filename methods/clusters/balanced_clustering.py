"""Clusters of equal size: Orchestra's local and global clustering.

Paper: Lubana et al. 2022, "Orchestra", Section 4 and Algorithm 1: representations are assigned to
centroids by Sinkhorn's algorithm, so that clusters are equally large, and centroids move to the
normalised means of those assigned.
Unstated: how many steps (5) and the sharpness of the assignments (0.05).
Evidence: `tests/methods/test_balanced_clustering.py`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.clusters.sinkhorn import sinkhorn


@torch.no_grad()
def balanced_centroids(
    z: Tensor,
    n_clusters: int,
    generator: torch.Generator,
    start: Tensor | None = None,
    steps: int = 5,
    epsilon: float = 0.05,
) -> Tensor:
    """Centroids n_clusters x width of the unit vectors `z`, n x width; all have length one.

    start: where they begin; None draws them from `z`, with repetition where it has too few.

    Raises `ValueError` if `z` is empty.
    """
    n = len(z)
    if n == 0:
        raise ValueError("nothing can be clustered")
    centroids = start
    if centroids is None:
        order = torch.randperm(n, generator=generator)
        chosen = order[torch.arange(n_clusters) % n]
        centroids = z[chosen.to(z.device)]
    for _ in range(steps):
        shares = assignments(z, centroids, epsilon)
        centroids = F.normalize(shares.t() @ z, dim=1)
    return centroids


def assignments(
    z: Tensor, centroids: Tensor, epsilon: float = 0.05, iterations: int = 10
) -> Tensor:
    """Soft assignments n x clusters; rows have sum 1, columns nearly n / clusters."""
    return sinkhorn((z @ centroids.t()).unsqueeze(0), epsilon, iterations)[0]
