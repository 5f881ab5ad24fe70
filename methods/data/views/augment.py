"""Random views of images: SimCLR's augmentation, whole batches at once.

Paper: CP-CFL, Section 4.1 (flip, random crop, jitter, brightness, channel manipulations, with
reference to Chen et al. 2020). Its strengths are unstated: the defaults are those of Chen et al.
for ImageNet, in the form that PyTorch codes share (factors in 1 ± strength, hue shifts in turns).

Every image has its own parameters: a row of uniform numbers, drawn on the generator's device. So a
run on a GPU sees the same views. `methods.data.views.pixels` applies them to the images. Blur has a
window of a tenth of the side (Chen et al.): none below 20 pixels.
Supervised training often moves images within a border instead of resizing crops (torchvision's
`RandomCrop(side, padding)`): such a window comes first, and crops are taken of what it sees. Images
go through all operations in pieces that fit the caches (docs/notes/benchmarks.md).
Evidence: `tests/methods/test_augment.py` (torchvision image by image; distributions).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import NonNegativeInt
from torch import Tensor

from ...transfer import all_to
from ..federation import to_float
from .pixels import (
    HUE,
    HUE_RANKS,
    Jitter,
    blur,
    blur_radius,
    column_shares,
    crop,
    hue_rank,
    jitter_steps,
    luma,
    of_all,
    places,
    row_pairs,
    seen,
    shares_through,
)

_TRIES = 10
_NUMBERS = 2 * _TRIES + 15
# Images at a time that stay in the caches; half and less of it costs more in calls than it saves.
_PIECE_BYTES = {"cpu": 3 << 19}
_PIECE_BYTES_ELSEWHERE = 1 << 32


@dataclass(frozen=True)
class Parameters:
    """What happens to each image; every tensor has n rows.

    `shift`: int64, n x 2, pixels by which its window moves down and right. `mirrored`: bool,
    whether the window sees the image reflected beyond the edges, or zeros. `top`, `left`, `height`,
    `width`: int64, the crop in pixels. `flip`: bool. `factors`: n x 4, brightness, contrast,
    saturation (1 leaves the image) and hue (in turns, 0 leaves it). `order`: int64, n x 4, which of
    these comes first, second, ... `grey`: bool. `sigma`: of the blur in pixels, 0 for none."""

    shift: Tensor
    mirrored: Tensor
    top: Tensor
    left: Tensor
    height: Tensor
    width: Tensor
    flip: Tensor
    factors: Tensor
    order: Tensor
    grey: Tensor
    sigma: Tensor

    def take(self, index: Tensor) -> Parameters:
        return Parameters(*(getattr(self, f.name)[index] for f in fields(self)))


@dataclass(frozen=True)
class Augmentation:
    """Options of the views.

    `crop_scale`: bounds of the crop's share of the area; (1, 1) keeps the image. `crop_ratio`:
    bounds of width / height. `brightness`, `contrast`, `saturation`: factors are in [max(0, 1 - s),
    1 + s]. `hue`: shifts are in ±hue turns, at most 0.5. `blur_sigma`: bounds in pixels.
    `crop_padding`: pixels around the image, within which a window of its size moves at random
    before all else. `crop_border`: what is there, `zero` or the image reflected (`reflect`)."""

    crop_scale: tuple[float, float] = (0.08, 1.0)
    crop_ratio: tuple[float, float] = (3 / 4, 4 / 3)
    flip_probability: float = 0.5
    jitter_probability: float = 0.8
    brightness: float = 0.8
    contrast: float = 0.8
    saturation: float = 0.8
    hue: float = 0.2
    grey_probability: float = 0.2
    blur_probability: float = 0.5
    blur_sigma: tuple[float, float] = (0.1, 2.0)
    crop_padding: NonNegativeInt = 0
    crop_border: Literal["zero", "reflect"] = "zero"

    def views(self, images: Tensor, n_views: int, generator: torch.Generator) -> list[Tensor]:
        """`n_views` views of uint8 images n x C x H x W: float32 in [0, 1], each n x C x H x W."""
        return self.views_of_batches([images], n_views, generator)[0]

    def views_of_batches(
        self, batches: Sequence[Tensor], n_views: int, generator: torch.Generator
    ) -> list[list[Tensor]]:
        """What `views` would give for each of `batches` in turn, all of them at once."""
        sizes = [n_views * len(batch) for batch in batches]
        repeated = torch.cat([batch.repeat(n_views, 1, 1, 1) for batch in batches])
        height, width = repeated.shape[2:]
        parameters = self.draw(len(repeated), height, width, generator)
        of_batches = torch.split(apply(repeated, parameters), sizes)
        return [list(changed.chunk(n_views)) for changed in of_batches]

    def stacked_views(
        self,
        images: Tensor,
        n_views: int,
        streams: Sequence[torch.Generator],
        counts: Sequence[int] | None = None,
    ) -> list[Tensor]:
        """Views of several clients' uint8 images, models x batch x C x H x W, each of that shape.
        Every client's come from its own stream, and are those that `views` would give of its first
        images, as many as `counts` says (None: of all); the others are padding."""
        models, n, _, height, width = images.shape
        u = []
        for count, stream in zip(counts or [n] * models, streams, strict=True):
            drawn = self._uniform(n_views * count, stream).view(n_views, count, -1)
            u.append(F.pad(drawn, (0, 0, 0, n - count)).flatten(0, 1))
        parameters = self.parameters(torch.cat(u), height, width)
        repeated = images.repeat(1, n_views, 1, 1, 1).flatten(0, 1)
        changed = apply(repeated, parameters).view(models, n_views * n, *images.shape[2:])
        return list(changed.chunk(n_views, dim=1))

    def draw(self, n: int, height: int, width: int, generator: torch.Generator) -> Parameters:
        """Independent parameters for `n` images of `height` x `width`."""
        return self.parameters(self._uniform(n, generator), height, width)

    def parameters(self, u: Tensor, height: int, width: int) -> Parameters:
        """Parameters for images of `height` x `width`, one for each row of uniform numbers.
        Raises `ValueError` for a reflected border as wide as the image."""
        border = self.crop_padding
        if self.crop_border == "reflect" and border >= min(height, width):
            raise ValueError(f"a border of {border} cannot reflect images {height} x {width}")
        parts = [_TRIES, _TRIES, 2, 4, 4, 4, 1, u.shape[1] - _NUMBERS]
        area, ratio, place, coins, strengths, keys, sigma, window = torch.split(u, parts, dim=1)
        shift = (window * (2 * border + 1)).long() - border
        crop_height, crop_width = self._crop(area, ratio, height, width)
        top = (place[:, 0] * (height - crop_height + 1)).long()
        left = (place[:, 1] * (width - crop_width + 1)).long()
        flip, jitter, grey, blur = coins.unbind(1)
        low, high = self.blur_sigma
        return Parameters(
            F.pad(shift, (0, 2 - shift.shape[1])),
            torch.full_like(flip, self.crop_border == "reflect", dtype=torch.bool),
            top,
            left,
            crop_height,
            crop_width,
            flip < self.flip_probability,
            self._factors(strengths, (jitter < self.jitter_probability).unsqueeze(1)),
            keys.argsort(dim=1),
            grey < self.grey_probability,
            torch.where(blur < self.blur_probability, low + (high - low) * sigma[:, 0], 0.0),
        )

    def _uniform(self, n: int, generator: torch.Generator) -> Tensor:
        """One row of uniform numbers for each of `n` images; two more place a window."""
        numbers = _NUMBERS + (2 if self.crop_padding else 0)
        return torch.rand(n, numbers, generator=generator, device=generator.device)

    def _crop(self, area: Tensor, ratio: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Heights and widths, as in torchvision's RandomResizedCrop: the first of ten that fits."""
        least, most = self.crop_scale
        narrow, wide = (math.log(bound) for bound in self.crop_ratio)
        pixels = height * width * (least + (most - least) * area)
        shape = (narrow + (wide - narrow) * ratio).exp()
        widths = (pixels * shape).sqrt().round().long()
        heights = (pixels / shape).sqrt().round().long()
        fits = (widths > 0) & (widths <= width) & (heights > 0) & (heights <= height)
        first = fits.byte().argmax(dim=1, keepdim=True)
        nearest = min(max(width / height, self.crop_ratio[0]), self.crop_ratio[1])
        full_width = min(width, round(height * nearest))
        full_height = min(height, round(width / nearest))
        found = fits.any(dim=1)
        return (
            torch.where(found, heights.gather(1, first)[:, 0], full_height),
            torch.where(found, widths.gather(1, first)[:, 0], full_width),
        )

    def _factors(self, u: Tensor, jitter: Tensor) -> Tensor:
        """Factors n x 4 from uniform numbers; those of images without jitter change nothing."""
        spread = u.new_tensor([self.brightness, self.contrast, self.saturation, self.hue])
        neutral = u.new_tensor([1.0, 1.0, 1.0, 0.0])
        low = neutral - spread
        low[:HUE].clamp_(min=0.0)
        return torch.where(jitter, low + (neutral + spread - low) * u, neutral)


def apply(images: Tensor, parameters: Parameters) -> Tensor:
    """Views n x C x H x W in [0, 1], each changed by its own row of the parameters. `images`:
    uint8, or float in [0, 1]; n or a divisor of n: row i is a view of image i modulo it."""
    device, (n_images, channels, height, width) = images.device, images.shape
    colour, radius = channels == 3, blur_radius(height)
    # Blurred images lie first, and those whose hue is turned at the same time side by side, so
    # that every step works on a slice.
    sharp = (parameters.sigma == 0) | (radius == 0)
    rank = hue_rank(parameters.factors, parameters.order, colour)
    at = (rank + HUE_RANKS * sharp).argsort()
    p, rank = parameters.take(at), rank[at]
    n, n_blurred = len(at), len(at) - int(sharp.sum())
    out = torch.empty(n, channels, height * width, device=device)
    pieces = (*_pieces(0, n_blurred, out), *_pieces(n_blurred, n, out))
    columns = places(p.left, p.width, width)
    columns, lines, image, place, sigma, shift, mirrored, *of_colour = all_to(
        device,
        (
            torch.where(p.flip.unsqueeze(1), columns.flip(1), columns),
            *(places(p.top, p.height, height), at % n_images, at, p.sigma, p.shift, p.mirrored),
            *jitter_steps(p.factors, p.order, colour),
            *(p.grey[now].nonzero()[:, 0] for now in pieces if colour),
        ),
    )
    colours, greys = Jitter(rank, *of_colour[:3]), of_colour[3:]
    columns = column_shares(columns)
    rows, shares = row_pairs(lines)
    if p.shift.any():
        down, right = shift.unbind(1)
        rows, inside = seen(rows, down, mirrored, height)
        shares = shares * inside
        columns = shares_through(columns, right, mirrored)
    pairs, shares = of_all(rows, shares, image, channels, height)
    images = to_float(images) if images.dtype == torch.uint8 else images.contiguous()
    for i, now in enumerate(pieces):
        x = crop(images, pairs[now], shares[now], columns[now]).flatten(2)
        colours.piece(now).apply(x)
        if colour:
            grey = greys[i]
            x.index_copy_(0, grey, luma(x.index_select(0, grey)).expand(-1, channels, -1))
        if now.stop <= n_blurred:
            x = x.view(-1, channels, height, width)
            x = blur(x, sigma[now], radius).flatten(2)
        out.index_copy_(0, place[now], x.clamp_(0, 1))
    return out.view(n, channels, height, width)


def _pieces(start: int, stop: int, images: Tensor) -> Iterator[slice]:
    """start .. stop in pieces of `images` that stay in a cache, as equal as can be."""
    limit = _PIECE_BYTES.get(images.device.type, _PIECE_BYTES_ELSEWHERE)
    size = images.shape[1:].numel() * images.element_size()
    n_pieces = min(-(-(stop - start) * size // limit), stop - start)
    for i in range(n_pieces):
        first, last = (start + (stop - start) * k // n_pieces for k in (i, i + 1))
        yield slice(first, last)
