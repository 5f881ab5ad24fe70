"""InstaHide: an image is mixed with others of the same client, and signs of its pixels are flipped.

Paper: Huang et al. 2020, Algorithm 2 (without public images): k images with random coefficients of
sum 1, none above 0.65, then a random sign for every value. FCL (Section 3) uploads their features.
Unstated by FCL: all numbers. Signs need a zero: pixels in [0, 1] are taken as offsets from mid-grey
and are returned to [0, 1], which the encoders expect. Coefficients are uniform among those allowed.
Every image is mixed into equally many others.
Limit: signs hide a mixture from an encoder, not from an attacker who recovers its pixels. Their
absolute values are the mixture's (Carlini et al. 2021 take mixtures apart from there).
Evidence: `tests/methods/test_privacy.py` (a plain loop; an attacker who has the images).
"""

import torch
from torch import Tensor

from ..transfer import all_to

LARGEST = 0.65


def instahide(images: Tensor, mixed: int, generator: torch.Generator) -> Tensor:
    """Encrypted images n x C x H x W in [0, 1]; `mixed`: k, the image itself included."""
    n = images.shape[0]
    drawn = (
        coefficients(n, mixed, generator).to(images.dtype),
        partners(n, mixed, generator),
        torch.randint(0, 2, images.shape, generator=generator).to(images.dtype),
    )
    share, index, coin = all_to(images.device, drawn)
    sign = coin * 2 - 1
    offsets = images * 2 - 1
    mixture = torch.einsum("nk,nkchw->nchw", share, offsets[index])
    return (sign * mixture + 1) / 2


def coefficients(n: int, mixed: int, generator: torch.Generator) -> Tensor:
    """Uniform on the simplex among those with no coefficient above 0.65, n x mixed, float32."""
    if mixed == 1:
        return torch.ones(n, 1)
    drawn = torch.empty(0, mixed)
    while len(drawn) < n:
        u = torch.rand(2 * n, mixed, generator=generator).clamp(min=1e-12)
        share = -u.log()
        share = share / share.sum(dim=1, keepdim=True)
        drawn = torch.cat([drawn, share[share.amax(dim=1) <= LARGEST]])
    return drawn[:n]


def partners(n: int, mixed: int, generator: torch.Generator) -> Tensor:
    """Which images are mixed, int64, n x mixed: first the image itself, then different others.
    Images stand on a circle in random order; partners are those at random distances, the same for
    all. Raises `ValueError` if there are fewer than `mixed` images."""
    if n < mixed:
        raise ValueError(f"{mixed} images cannot be mixed: there are {n}")
    circle = torch.randperm(n, generator=generator)
    distance = torch.randperm(n - 1, generator=generator)[: mixed - 1] + 1
    distance = torch.cat([torch.zeros(1, dtype=torch.int64), distance])
    index = torch.empty(n, mixed, dtype=torch.int64)
    index[circle] = circle[(torch.arange(n).unsqueeze(1) + distance) % n]
    return index
