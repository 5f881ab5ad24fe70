"""k-means for many models at once, by Euclidean distance or by cosine.

Lloyd's algorithm from random points as first centres; a centre that no point chooses stays where it
is (both as in DeepCluster-v2, Caron et al. 2020, which clusters by cosine).
Evidence: `tests/methods/test_kmeans.py` against scikit-learn's Lloyd iterations and plain loops.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


@torch.no_grad()
def kmeans(
    x: Tensor,
    n_clusters: int,
    generators: Sequence[torch.Generator],
    iterations: int = 10,
    spherical: bool = False,
) -> tuple[Tensor, Tensor]:
    """Centres models x n_clusters x width, and each point's centre, int64, models x points.

    x: models x points x width; of length one if `spherical`, as the centres then are. Each model
    draws its first centres from its own generator (on the CPU). With fewer points than clusters
    centres repeat, and the later of equal ones stay empty.
    """
    points = x.shape[1]
    drawn = torch.stack([torch.randperm(points, generator=g) for g in generators])
    first = drawn[:, torch.arange(n_clusters) % points].to(x.device)
    centres = torch.stack([own[index] for own, index in zip(x, first, strict=True)])
    for _ in range(iterations):
        centres = _means(x, nearest(x, centres, spherical), centres)
        if spherical:
            centres = F.normalize(centres, dim=2)
    return centres, nearest(x, centres, spherical)


def nearest(x: Tensor, centres: Tensor, spherical: bool = False) -> Tensor:
    """The nearest centre of each point, int64, models x points."""
    if spherical:
        return torch.bmm(x, centres.transpose(1, 2)).argmax(2)
    return torch.cdist(x, centres).argmin(2)


def _means(x: Tensor, choice: Tensor, centres: Tensor) -> Tensor:
    """Means of the points that chose each centre; the old centre where none did."""
    chosen = F.one_hot(choice, centres.shape[1]).to(x.dtype)
    size = chosen.sum(1).unsqueeze(2)
    mean = torch.bmm(chosen.transpose(1, 2), x) / size.clamp(min=1)
    return torch.where(size > 0, mean, centres)
