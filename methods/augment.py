"""Random views of images: SimCLR's augmentation, whole batches at once.

Paper: CP-CFL, Section 4.1 (flip, random crop, jitter, brightness, channel manipulations, with
reference to Chen et al. 2020). Its strengths are unstated: the defaults are those of Chen et al.
for ImageNet, in the form that PyTorch codes share (factors in 1 ± strength, hue shifts in turns).

Every image has parameters of its own: one row of uniform numbers (`Augmentation.draw`), drawn on
the generator's device, so that a run on a GPU sees the same views. Cropping, resizing and flipping
are two small matrix products per image. Antialiasing does not arise: a crop is never larger than
the image that it is resized to, so resizing only enlarges, where bilinear interpolation with and
without antialiasing agree. Brightness, contrast, saturation and greying are one formula, a mix of
the image, its grey version and the mean of that; hue turns in HSV. On one channel, saturation,
hue and greying do nothing. Blur has a window of a tenth of the side, as in Chen et al.; below 20
pixels that is a single pixel and nothing is blurred.

Speed, two views of 128 images of 3x32x32, CPU time on one core of a busy machine: 30 ms, against
181 ms (PIL) and 251 ms (tensors) for torchvision image by image; about a third of the 30 ms is the
kernel handing out memory.

Evidence: `tests/methods/test_augment.py` holds every operation against torchvision image by image,
and the drawn parameters against their distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from methods.federation import to_float

BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)
_GREY = (0.2989, 0.587, 0.114)  # ITU-R BT.601 luma, with torchvision's digits
_TRIES = 10


@dataclass(frozen=True)
class Parameters:
    """What happens to each image; every tensor has n rows.

    top, left, height, width: int64, the crop in pixels. flip: bool. factors: n x 4, brightness,
    contrast, saturation (1 leaves the image) and hue (in turns, 0 leaves it). order: int64, n x 4,
    which of these comes first, second, ... grey: bool. sigma: of the blur in pixels, 0 for none.
    """

    top: Tensor
    left: Tensor
    height: Tensor
    width: Tensor
    flip: Tensor
    factors: Tensor
    order: Tensor
    grey: Tensor
    sigma: Tensor


@dataclass(frozen=True)
class Augmentation:
    """Options of the views.

    crop_scale: bounds of the crop's share of the area; (1, 1) keeps the image. crop_ratio: bounds
    of width / height. brightness, contrast, saturation: factors lie in [max(0, 1 - s), 1 + s].
    hue: shifts lie in ±hue turns, at most 0.5. blur_sigma: bounds in pixels.
    """

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

    def views(self, images: Tensor, n_views: int, generator: torch.Generator) -> list[Tensor]:
        """`n_views` views of uint8 images n x C x H x W: float32 in [0, 1], each n x C x H x W."""
        n, _, height, width = images.shape
        parameters = self.draw(n * n_views, height, width, generator)
        repeated = to_float(images).repeat(n_views, 1, 1, 1)
        return list(apply(repeated, parameters).chunk(n_views))

    def stacked_views(
        self, images: Tensor, n_views: int, streams: Sequence[torch.Generator]
    ) -> list[Tensor]:
        """Views of several clients' uint8 images, models x batch x C x H x W, each of that shape.

        Every client's come from its own one of `streams`, and are those that `views` would give.
        """
        models, n, _, height, width = images.shape
        u = torch.stack([_uniform(n * n_views, stream) for stream in streams])
        parameters = self.parameters(u.flatten(0, 1), height, width)
        repeated = to_float(images).repeat(1, n_views, 1, 1, 1).flatten(0, 1)
        changed = apply(repeated, parameters).view(models, n_views * n, *images.shape[2:])
        return list(changed.chunk(n_views, dim=1))

    def draw(self, n: int, height: int, width: int, generator: torch.Generator) -> Parameters:
        """Independent parameters for `n` images of `height` x `width`."""
        return self.parameters(_uniform(n, generator), height, width)

    def parameters(self, u: Tensor, height: int, width: int) -> Parameters:
        """Parameters for images of `height` x `width`, one for each row of uniform numbers."""
        area, ratio, rest = torch.split(u, [_TRIES, _TRIES, 15], dim=1)
        place, coins, strengths, keys, sigma = torch.split(rest, [2, 4, 4, 4, 1], dim=1)
        crop_height, crop_width = self._crop(area, ratio, height, width)
        top = (place[:, 0] * (height - crop_height + 1)).long()
        left = (place[:, 1] * (width - crop_width + 1)).long()
        flip, jitter, grey, blur = coins.unbind(1)
        low, high = self.blur_sigma
        return Parameters(
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

    def _crop(self, area: Tensor, ratio: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Heights and widths: the first of ten tries that fits, else the largest allowed shape.

        The rule of torchvision's RandomResizedCrop, which redraws what does not fit.
        """
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


def _uniform(n: int, generator: torch.Generator) -> Tensor:
    """One row of uniform numbers for each of `n` images."""
    return torch.rand(n, 2 * _TRIES + 15, generator=generator, device=generator.device)


def apply(images: Tensor, parameters: Parameters) -> Tensor:
    """Float images n x C x H x W in [0, 1], each changed by its own parameters; same shape."""
    p, n = parameters, images.shape[0]
    device = images.device
    x = crop(images, p)
    if bool((p.factors != p.factors.new_tensor([1.0, 1.0, 1.0, 0.0])).any()):
        for place in range(4):
            x = jitter(x, p.order[:, place], p.factors)
    if x.shape[1] == 3 and bool(p.grey.any()):
        x = torch.where(p.grey.to(device).view(n, 1, 1, 1), luma(x), x)
    blurred = p.sigma.nonzero()[:, 0]
    radius = blur_radius(x.shape[2])
    if radius > 0 and len(blurred) > 0:
        at = blurred.to(device)
        x[at] = blur(x[at], p.sigma[blurred].to(device), radius)
    return x.clamp_(0, 1)


def crop(images: Tensor, parameters: Parameters) -> Tensor:
    """Each image's crop, brought to the image's size and flipped."""
    p, device = parameters, images.device
    n, channels, height, width = images.shape
    rows = _interpolation(p.top, p.height, height)
    columns = _interpolation(p.left, p.width, width)
    columns = torch.where(p.flip.view(-1, 1, 1), columns.flip(1), columns)
    # Channels side by side, so that either product is one large matrix per image.
    x = images.transpose(1, 2).reshape(n, height, channels * width)
    x = torch.bmm(rows.to(device), x).view(n, height * channels, width)
    x = torch.bmm(x, columns.transpose(1, 2).to(device)).view(n, height, channels, width)
    return x.transpose(1, 2).contiguous()


def _interpolation(start: Tensor, length: Tensor, side: int) -> Tensor:
    """Weights n x side x side with which resized pixels read the original ones along one axis."""
    pixel = torch.arange(side, device=start.device, dtype=torch.float32)
    scale = length.unsqueeze(1) / side
    source = (pixel + 0.5) * scale - 0.5
    source = source.clamp(min=0).minimum(length.unsqueeze(1) - 1) + start.unsqueeze(1)
    return (1 - (source.unsqueeze(2) - pixel).abs()).clamp_(min=0)


def luma(x: Tensor) -> Tensor:
    """Grey versions, n x 1 x H x W; an image of one channel is its own."""
    if x.shape[1] == 1:
        return x
    red, green, blue = x.unbind(1)
    return (_GREY[0] * red + _GREY[1] * green + _GREY[2] * blue).unsqueeze(1)


def jitter(x: Tensor, operation: Tensor, factors: Tensor) -> Tensor:
    """One colour operation per image (`operation`, n), with its factor from `factors` (n x 4).

    All but hue are x' = f x + (1 - f) y with y = 0 for brightness, the mean grey for contrast, the
    grey version for saturation, cut to [0, 1].
    """
    device, colour = x.device, x.shape[1] == 3
    factor = factors.gather(1, operation.unsqueeze(1))[:, 0]
    saturation, contrast = operation == SATURATION, operation == CONTRAST
    untouched = operation == HUE if colour else (operation == HUE) | saturation
    share = torch.where(untouched, 1.0, factor)
    mix = torch.stack([share, (1 - share) * saturation, (1 - share) * contrast])
    own, grey, mean = mix.to(device).view(3, -1, 1, 1, 1).unbind(0)
    y = luma(x)
    base = grey * y + mean * y.mean(dim=(2, 3), keepdim=True)
    mixed = torch.addcmul(base, own, x).clamp_(0, 1)
    turned = ((operation == HUE) & (factor != 0)).nonzero()[:, 0]
    if colour and len(turned) > 0:
        at = turned.to(device)
        mixed[at] = turn_hue(x[at], factor[turned].to(device))
    return mixed


def turn_hue(x: Tensor, turns: Tensor) -> Tensor:
    """Colour images n x 3 x H x W with their hue moved by `turns` (n), in HSV."""
    red, green, blue = x.unbind(1)
    value, darkest = red.maximum(green).maximum(blue), red.minimum(green).minimum(blue)
    chroma = value - darkest
    divisor = chroma.clamp(min=1e-12)
    sextant = torch.where(
        value == red,
        (green - blue) / divisor,
        torch.where(value == green, (blue - red) / divisor + 2, (red - green) / divisor + 4),
    )
    hue = sextant / 6 + turns.view(-1, 1, 1)
    hue = 6 * (hue - hue.floor())
    # Smith 1978 in closed form: over the hue, a channel's share of the chroma is a trapezium.
    share = torch.stack([(hue - 3).abs() - 1, 2 - (hue - 2).abs(), 2 - (hue - 4).abs()], dim=1)
    return share.clamp_(0, 1).mul_(chroma.unsqueeze(1)).add_(darkest.unsqueeze(1))


def blur_radius(side: int) -> int:
    """Pixels on each side of the centre of a window of a tenth of `side` (Chen et al. 2020)."""
    return side // 10 // 2


def blur(x: Tensor, sigma: Tensor, radius: int) -> Tensor:
    """Gaussian blur n x C x H x W, one `sigma` (n) per image; borders are reflected."""
    offset = torch.arange(-radius, radius + 1, device=x.device, dtype=x.dtype)
    window = (-0.5 * (offset / sigma.unsqueeze(1)) ** 2).exp()
    window = window / window.sum(dim=1, keepdim=True)
    weights = window.t().reshape(-1, len(sigma), 1, 1, 1)
    for axis, padding in ((2, (0, 0, radius, radius)), (3, (radius, radius, 0, 0))):
        padded, side = F.pad(x, padding, mode="reflect"), x.shape[axis]
        x = sum(
            (weight * padded.narrow(axis, i, side) for i, weight in enumerate(weights)),
            start=torch.zeros_like(x),
        )
    return x
