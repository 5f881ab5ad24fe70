"""What is done to the pixels of many images at once: crops, mirroring, blur, colour.

A row of a resized crop mixes two rows of the image. Rows of all images form one table, from which
`embedding_bag` gathers pairs with their shares: views read the originals without copies. Columns
are then one small matrix product per image, all channels together. Antialiasing does not arise:
resizing only enlarges, where bilinear interpolation with and without it agree.

Every image has its own colour factors and its own order of the operations. Brightness, contrast and
saturation with factor f are f x + (1 - f) y, cut to [0, 1]. Here y is 0 for brightness, the mean
grey for contrast and the grey version for saturation. All are x' = M x + b with a 3x3 matrix M, and
b is (1 - f) y for contrast, else 0. Hue turns in HSV, without sorting the channels. Let C be the
chroma, m the darkest and V the brightest channel. A hue h in [-3, 3] sixths of a turn has
C |h| = V + G + B - R - 2m and the sign of G - B. The way back is a trapezium per channel (Smith
1978). Colours change in place, on images n x C x P (P pixels). On one channel, saturation, hue and
greying do nothing.
Evidence: `tests/methods/test_augment.py` holds every operation against torchvision image by image.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from ...state import unsqueeze_like

BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)
HUE_RANKS = HUE + 2  # before each of three other steps, after them, or no jitter at all
_GREY = (0.2989, 0.587, 0.114)  # ITU-R BT.601 luma, with torchvision's digits
# Where the trapezia of red, green and blue have their middle (red upside down), in turns.
_MIDDLES = (1 / 2, 1 / 3, 2 / 3)


def places(start: Tensor, length: Tensor, side: int) -> Tensor:
    """n x side: where pixels of a resized crop (int64, n) are on one axis of the image."""
    pixel = torch.arange(side, device=start.device, dtype=torch.get_default_dtype())
    place = (pixel + 0.5) * (length.unsqueeze(1) / side) - 0.5
    return place.clamp_(min=0).minimum(length.unsqueeze(1) - 1).add_(start.unsqueeze(1))


def seen(pixel: Tensor, shift: Tensor, mirrored: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Which of the `side` pixels of an axis lie at `pixel` of a moved window, and whether any does.
    `pixel`: int64, n x ... `shift`: int64, n, by how many pixels the window has moved. `mirrored`:
    bool, n, whether it sees the image reflected beyond the edges (the edge itself once), or
    nothing."""
    shift, mirrored = (unsqueeze_like(each, pixel) for each in (shift, mirrored))
    at = pixel + shift
    inside = mirrored | ((at >= 0) & (at < side))
    return torch.where(mirrored, _mirror(at, side), at).clamp_(0, side - 1), inside


def row_pairs(place: Tensor) -> tuple[Tensor, Tensor]:
    """Which two rows (int64) are mixed, and their shares; both n x H x 2. `place`: n x H."""
    before = place.floor()
    share = place - before
    rows = torch.stack([before, place.ceil()], dim=2).long()
    return rows, torch.stack([1 - share, share], dim=2)


def of_all(
    rows: Tensor, shares: Tensor, image: Tensor, channels: int, height: int
) -> tuple[Tensor, Tensor]:
    """`row_pairs` of all channels, n x C x H x 2; rows are counted over channels of all images."""
    channel = torch.arange(channels, device=rows.device) + channels * image.unsqueeze(1)
    return (
        rows.unsqueeze(1) + height * channel.view(len(rows), channels, 1, 1),
        shares.unsqueeze(1).repeat(1, channels, 1, 1),
    )


def column_shares(place: Tensor) -> Tensor:
    """n x W x W: shares of an image's columns (first) in those that are at `place` (n x W)."""
    pixel = torch.arange(place.shape[1], device=place.device, dtype=torch.get_default_dtype())
    return (place.unsqueeze(1) - pixel.unsqueeze(1)).abs_().neg_().add_(1).clamp_(min=0)


def shares_through(columns: Tensor, shift: Tensor, mirrored: Tensor) -> Tensor:
    """n x W x W: `column_shares` where `columns` are of a moved window; more in `seen`."""
    pixel = torch.arange(columns.shape[1], device=columns.device)
    column, inside = seen(pixel.repeat(len(columns), 1), shift, mirrored, len(pixel))
    window = (column.unsqueeze(1) == pixel.unsqueeze(1)) & inside.unsqueeze(1)
    return torch.bmm(window.to(columns), columns)


def crop(images: Tensor, pairs: Tensor, shares: Tensor, columns: Tensor) -> Tensor:
    """Resized crops n x C x H x W of float images (any number) x C x H x W."""
    (n, channels, height), width = pairs.shape[:3], images.shape[3]
    x = F.embedding_bag(
        pairs.view(-1, 2), images.view(-1, width), mode="sum", per_sample_weights=shares.view(-1, 2)
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
    found = _mirror(pixel + offset.unsqueeze(1), side)
    return (found.unsqueeze(1) == pixel.unsqueeze(1)).to(torch.get_default_dtype()).flatten(1)


def _mirror(at: Tensor, side: int) -> Tensor:
    """Where places up to side - 1 beyond the edges of an axis are, reflected at its last pixels."""
    return side - 1 - (side - 1 - at.abs()).abs()


def luma(x: Tensor) -> Tensor:
    """Grey versions, n x 1 x P, of colour images n x 3 x P."""
    return torch.bmm(_numbers(_GREY, x.dtype, x.device).expand(len(x), 1, 3), x)


@lru_cache(maxsize=16)
def _numbers(values: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=device)


@dataclass(frozen=True)
class Jitter:
    """What happens to the colours of n images that are sorted by `rank`. `rank`: int64, n, on the
    CPU; when the hue is turned, before step 0, 1, ... or after all, and one more for images without
    jitter. `matrices`, `greyness`, `turns`: of `jitter_steps`."""

    rank: Tensor
    matrices: Tensor
    greyness: Tensor
    turns: Tensor

    def piece(self, now: slice) -> Jitter:
        return Jitter(self.rank[now], self.matrices[:, now], self.greyness[:, now], self.turns[now])

    def apply(self, x: Tensor) -> None:
        """Changes the images n x C x P in place."""
        *before, jittered, _ = torch.bincount(self.rank, minlength=HUE_RANKS).cumsum(0).tolist()
        for step in range(len(self.matrices)):
            self._mix(x, step, before[step], jittered)
        if x.shape[1] == 3 and jittered > 0:
            turn_hue(x[:jittered], self.turns[:jittered])
            for step in range(len(self.matrices)):
                self._mix(x, step, 0, before[step])

    def _mix(self, x: Tensor, step: int, start: int, stop: int) -> None:
        if start < stop:
            x = x[start:stop]
            # A product with ones adds up a plane faster than a mean does.
            means = (x.flatten(0, 1) @ x.new_full((x.shape[2],), 1 / x.shape[2])).view(x.shape[:2])
            grey = torch.linalg.vecdot(means, self.greyness[step][start:stop])
            base = grey.view(-1, 1, 1).expand(-1, x.shape[1], 1)
            mixed = torch.baddbmm(base, self.matrices[step][start:stop], x)
            torch.clamp(mixed, 0, 1, out=x)


def hue_rank(factors: Tensor, order: Tensor, colour: bool) -> Tensor:
    """By what images are to be sorted for `jitter`: see `Jitter.rank`."""
    jittered = (factors != factors.new_tensor([1.0, 1.0, 1.0, 0.0])).any(1)
    # Greys have no hue to wait for: all steps of all of them come before it.
    hue_at = (order == HUE).byte().argmax(1) if colour else HUE
    return torch.where(jittered, hue_at, HUE_RANKS - 1)


def jitter_steps(factors: Tensor, order: Tensor, colour: bool) -> tuple[Tensor, Tensor, Tensor]:
    """For each step matrices: n x C x C; greyness: n x C, times the mean colour is added. Both have
    the steps before n. Last: turns of the hue, n. `factors`: n x 4, as of `augment.Parameters`.
    `order`: int64, n x 4, which comes first, second, ..."""
    channels, kept = (3, HUE) if colour else (1, SATURATION)
    steps = order[order < kept].view(-1, kept).t()
    share = factors.t().gather(0, steps)
    rest = 1 - share
    grey = factors.new_tensor(_GREY if colour else (1.0,))
    grey_version, mean_grey = (
        (rest * (steps == operation)).unsqueeze(2) * grey for operation in (SATURATION, CONTRAST)
    )
    itself = torch.diag_embed(share.unsqueeze(2).expand(-1, -1, channels))
    return itself + grey_version.unsqueeze(2), mean_grey, factors[:, HUE]


def turn_hue(x: Tensor, turns: Tensor) -> None:
    """Moves the hue of colour images n x 3 x P by `turns` (n), in place."""
    red, green, blue = x.unbind(1)
    brightest = torch.maximum(red, green)
    torch.maximum(brightest, blue, out=brightest)
    darkest = torch.minimum(red, green)
    torch.minimum(darkest, blue, out=darkest)
    # A grey pixel has no chroma and no hue: 0 / 1e-12.
    chroma = torch.sub(brightest, darkest).add_(1e-12)
    hue = torch.add(green, blue).sub_(red).add_(brightest).sub_(darkest, alpha=2).div_(chroma)
    hue.copysign_(torch.sub(green, blue))
    torch.add((turns + 1).unsqueeze(1), hue, alpha=1 / 6, out=hue)
    hue.frac_()
    torch.sub(hue.unsqueeze(1), _numbers(_MIDDLES, x.dtype, x.device).view(1, 3, 1), out=x)
    x.abs_().clamp_(1 / 6, 2 / 6)
    torch.addcmul(darkest.sub_(chroma), chroma, red, value=6, out=red)
    brightest.add_(chroma)
    for channel in (green, blue):
        torch.addcmul(brightest, chroma, channel, value=-6, out=channel)
