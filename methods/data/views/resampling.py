"""Crops of many images, each brought to the image's size and mirrored or not, and Gaussian blur.

A row of a resized crop mixes two rows of the image: rows of all images form one table, from which
`embedding_bag` gathers pairs with their shares, so that views read the originals without copies of
them. Columns are then one small matrix product per image, all channels together.

Antialiasing does not arise: a crop is never larger than the image that it is resized to, so
resizing only enlarges, where bilinear interpolation with and without antialiasing agree.
Evidence: `tests/methods/test_augment.py`, against torchvision image by image.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def places(start: Tensor, length: Tensor, side: int) -> Tensor:
    """n x side: where pixels of a resized crop (int64, n) lie on one axis of the image."""
    pixel = torch.arange(side, device=start.device, dtype=torch.float32)
    place = (pixel + 0.5) * (length.unsqueeze(1) / side) - 0.5
    return place.clamp_(min=0).minimum(length.unsqueeze(1) - 1).add_(start.unsqueeze(1))


def row_pairs(place: Tensor, image: Tensor, channels: int) -> tuple[Tensor, Tensor]:
    """Which two rows are mixed, and their shares; both n x C x H x 2.

    place: n x H. image: int64, n. Rows are counted over all channels of all images.
    """
    n, height = place.shape
    before = place.floor()
    share = place - before
    rows = torch.stack([before, place.ceil()], dim=2).long()
    shares = torch.stack([1 - share, share], dim=2)
    channel = torch.arange(channels, device=place.device) + channels * image.unsqueeze(1)
    return (
        rows.unsqueeze(1) + height * channel.view(n, channels, 1, 1),
        shares.unsqueeze(1).repeat(1, channels, 1, 1),
    )


def column_shares(place: Tensor) -> Tensor:
    """n x W x W: shares of an image's columns (first) in those that lie at `place` (n x W)."""
    pixel = torch.arange(place.shape[1], device=place.device, dtype=torch.float32)
    return (place.unsqueeze(1) - pixel.unsqueeze(1)).abs_().neg_().add_(1).clamp_(min=0)


def crop(images: Tensor, pairs: Tensor, shares: Tensor, columns: Tensor) -> Tensor:
    """Resized crops n x C x H x W of float images (any number) x C x H x W."""
    (n, channels, height), width = pairs.shape[:3], images.shape[3]
    x = F.embedding_bag(
        pairs.view(-1, 2),
        images.view(-1, width),
        mode="sum",
        per_sample_weights=shares.view(-1, 2),
    )
    return torch.bmm(x.view(n, channels * height, width), columns).view(n, channels, height, width)


def blur_radius(side: int) -> int:
    """Pixels on each side of the centre of a window of a tenth of `side` (Chen et al. 2020)."""
    return side // 10 // 2


def blur(x: Tensor, sigma: Tensor, radius: int) -> Tensor:
    """Gaussian blur n x C x H x W, one `sigma` (n) per image; borders are reflected."""
    n, channels, height, width = x.shape
    offset = torch.arange(-radius, radius + 1, device=x.device, dtype=x.dtype)
    window = (-0.5 * (offset / sigma.unsqueeze(1)) ** 2).exp()
    window = window / window.sum(dim=1, keepdim=True)
    columns = (window @ _reflected(radius, width, x.device)).view(n, width, width)
    x = torch.bmm(x.view(n, channels * height, width), columns).view(x.shape)
    padded = F.pad(x, (0, 0, radius, radius), mode="reflect")
    x = torch.zeros_like(x)
    for i, weight in enumerate(window.t()):
        x.addcmul_(padded.narrow(2, i, height), weight.view(n, 1, 1, 1))
    return x


def _reflected(radius: int, side: int, device: torch.device) -> Tensor:
    """(2 radius + 1) x side²: 1 where a pixel (first) is seen at an offset from another."""
    pixel = torch.arange(side, device=device)
    offset = torch.arange(-radius, radius + 1, device=device)
    seen = (pixel + offset.unsqueeze(1)).abs()
    seen = side - 1 - (side - 1 - seen).abs()
    return (seen.unsqueeze(1) == pixel.unsqueeze(1)).to(torch.float32).flatten(1)
