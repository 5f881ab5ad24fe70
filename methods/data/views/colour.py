"""Colour of many images at once: brightness, contrast, saturation, hue, grey.

Every image has its own factors and its own order of the operations. Brightness, contrast and
saturation are all x' = M x + b, cut to [0, 1], where M is a 3x3 matrix and b is nothing but the
mean grey for contrast: f x + (1 - f) y with y = 0 for brightness, the mean grey for contrast, the
grey version for saturation. Hue turns in HSV, without sorting the channels: with chroma C, darkest
m and brightest V, a hue h in [-3, 3] sixths of a turn has C |h| = V + G + B - R - 2m and the sign
of G - B, and the way back is a trapezium per channel (Smith 1978).

All functions work in place on float images n x C x P (P pixels), in few passes over memory that
the caller keeps in a cache. On one channel, saturation, hue and greying do nothing.
Evidence: `tests/methods/test_augment.py` holds every operation against torchvision image by image.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)
HUE_RANKS = HUE + 2  # before each of three other steps, after them, or no jitter at all
_GREY = (0.2989, 0.587, 0.114)  # ITU-R BT.601 luma, with torchvision's digits
# Where the trapezia of red, green and blue have their middle (red upside down), in turns.
_MIDDLES = (1 / 2, 1 / 3, 2 / 3)


def luma(x: Tensor) -> Tensor:
    """Grey versions, n x 1 x P, of colour images n x 3 x P."""
    return torch.bmm(x.new_tensor(_GREY).expand(len(x), 1, 3), x)


@dataclass(frozen=True)
class Jitter:
    """What happens to the colours of n images that are sorted by `rank`.

    rank: int64, n, on the CPU; when the hue is turned, before step 0, 1, ... or after all, and one
    more for images without jitter. For each step, matrices: n x C x C; greyness: n x C, times the
    mean colour is added. turns: n, of the hue.
    """

    rank: Tensor
    matrices: tuple[Tensor, ...]
    greyness: tuple[Tensor, ...]
    turns: Tensor

    def piece(self, now: slice) -> Jitter:
        """The part for the images `now`."""
        return Jitter(
            self.rank[now],
            tuple(matrix[now] for matrix in self.matrices),
            tuple(grey[now] for grey in self.greyness),
            self.turns[now],
        )

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
        """A step that is not hue, of images start .. stop - 1."""
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


def jitter(
    rank: Tensor, factors: Tensor, order: Tensor, colour: bool, device: torch.device
) -> Jitter:
    """The steps of n images that are sorted by `rank`, with all that is large on `device`.

    factors: n x 4, as of `augment.Parameters`. order: int64, n x 4, which comes first, second, ...
    """
    channels, kept = (3, HUE) if colour else (1, SATURATION)
    steps = order[order < kept].view(-1, kept).t()
    share = factors.t().gather(0, steps)
    rest = 1 - share
    grey = factors.new_tensor(_GREY if colour else (1.0,))
    grey_version, mean_grey = (
        (rest * (steps == operation)).unsqueeze(2) * grey for operation in (SATURATION, CONTRAST)
    )
    itself = torch.diag_embed(share.unsqueeze(2).expand(-1, -1, channels))
    matrices = itself + grey_version.unsqueeze(2)
    return Jitter(
        rank,
        matrices.to(device).unbind(0),
        mean_grey.to(device).unbind(0),
        factors[:, HUE].to(device),
    )


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
    torch.sub(hue.unsqueeze(1), x.new_tensor(_MIDDLES).view(1, 3, 1), out=x)
    x.abs_().clamp_(1 / 6, 2 / 6)
    torch.addcmul(darkest.sub_(chroma), chroma, red, value=6, out=red)
    brightest.add_(chroma)
    for channel in (green, blue):
        torch.addcmul(brightest, chroma, channel, value=-6, out=channel)
