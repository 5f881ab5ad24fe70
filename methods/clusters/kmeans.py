"""k-means for many models at once, by Euclidean distance or by cosine.

Lloyd's algorithm from random points as first centres; a centre that no point chooses stays where it
is (both as in DeepCluster-v2, Caron et al. 2020, which clusters by cosine). Where clusters are the
result, `best_kmeans` takes the best of several starts by k-means++ (Arthur and Vassilvitskii 2007).
Evidence: `tests/methods/test_clusters.py` (scikit-learn's Lloyd iterations, plain loops).
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

_LOOK = 20


@torch.no_grad()
def kmeans(
    x: Tensor,
    n_clusters: int,
    generators: Sequence[torch.Generator],
    iterations: int = 10,
    spherical: bool = False,
) -> tuple[Tensor, Tensor]:
    """Centres models x n_clusters x width, and each point's centre, int64, models x points. `x`:
    models x points x width; of length one if `spherical`, as the centres then are. Each model draws
    its first centres from its own generator; of equal centres the later ones stay empty."""
    points = x.shape[1]
    drawn = torch.stack([torch.randperm(points, generator=g) for g in generators])
    first = drawn[:, torch.arange(n_clusters) % points].to(x.device, non_blocking=True)
    centres = torch.stack([own[index] for own, index in zip(x, first, strict=True)])
    return lloyd(x, centres, iterations, spherical)


@torch.no_grad()
def best_kmeans(
    x: Tensor,
    n_clusters: int,
    generators: Sequence[torch.Generator],
    restarts: int = 10,
    iterations: int = 100,
) -> tuple[Tensor, Tensor]:
    """As `kmeans`: per model, of `restarts` runs from k-means++ the one of least inertia."""
    best: tuple[Tensor, Tensor, Tensor] | None = None
    # First centres are drawn one after the other by the processor's generators, where points are
    # few and each draw has to wait for the one before: there all of it, with one copy each way.
    here = x.cpu()
    for _ in range(restarts):
        first = plus_plus(here, n_clusters, generators).to(x.device, non_blocking=True)
        centres, choice = lloyd(x, first, iterations)
        chosen = centres.gather(1, choice.unsqueeze(2).expand(-1, -1, centres.shape[2]))
        inertia = (x - chosen).square().sum((1, 2))
        if best is None:
            best = centres, choice, inertia
            continue
        wins = inertia < best[2]
        best = (
            torch.where(wins[:, None, None], centres, best[0]),
            torch.where(wins[:, None], choice, best[1]),
            torch.where(wins, inertia, best[2]),
        )
    assert best is not None
    return best[:2]


@torch.no_grad()
def lloyd(
    x: Tensor, centres: Tensor, iterations: int, spherical: bool = False
) -> tuple[Tensor, Tensor]:
    """`kmeans` from given centres until no choice changes; GPUs check every `_LOOK` iterations."""
    choice = nearest(x, centres, spherical)
    look = 1 if x.device.type == "cpu" else _LOOK
    for i in range(iterations):
        means, sizes = group_means(x, choice, centres.shape[1])
        centres = torch.where((sizes > 0).unsqueeze(2), means, centres)
        if spherical:
            centres = F.normalize(centres, dim=2)
        before, choice = choice, nearest(x, centres, spherical)
        if (i + 1) % look == 0 and torch.equal(before, choice):
            break
    return centres, choice


@torch.no_grad()
def plus_plus(x: Tensor, n_clusters: int, generators: Sequence[torch.Generator]) -> Tensor:
    """Centres models x n_clusters x width: points drawn by squared distance to the nearest before.
    `x`: on the processor, as the generators are. `ValueError` for fewer points than clusters."""
    models, points = x.shape[:2]
    if points < n_clusters:
        raise ValueError(f"{points} points cannot make {n_clusters} clusters")
    rows = torch.arange(models, device=x.device)
    mass = x.new_ones(models, points)
    centres: list[Tensor] = []
    for k in range(n_clusters):
        centres.append(x[rows, _drawn(mass, generators)])
        away = (x - centres[-1].unsqueeze(1)).square().sum(2)
        mass = away if k == 0 else torch.minimum(mass, away)
    return torch.stack(centres, dim=1)


def nearest(x: Tensor, centres: Tensor, spherical: bool = False) -> Tensor:
    """The nearest centre of each point, int64, models x points."""
    if spherical:
        return torch.bmm(x, centres.transpose(1, 2)).argmax(2)
    return torch.cdist(x, centres).argmin(2)


def _drawn(mass: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
    """One point of each model, drawn by `mass`; any of them where it is zero throughout."""
    mass = mass.double()
    mass = torch.where(mass.sum(1, keepdim=True) > 0, mass, torch.ones_like(mass))
    drawn = [torch.multinomial(m, 1, generator=g) for m, g in zip(mass, generators, strict=True)]
    return torch.cat(drawn)


def group_means(x: Tensor, group: Tensor, n_groups: int) -> tuple[Tensor, Tensor]:
    """The mean of each group, models x groups x width, and its size, int64, models x groups. `x`:
    models x batch x width, with gradients. `group`: int64, models x batch. Means of none are 0."""
    belongs = F.one_hot(group, n_groups)
    sizes = belongs.sum(dim=1)
    sums = torch.bmm(belongs.transpose(1, 2).to(x.dtype), x)
    return sums / sizes.clamp(min=1).unsqueeze(2), sizes
