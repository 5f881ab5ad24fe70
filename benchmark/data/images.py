"""Brings images to the size and channels that an encoder takes.

CP-CFL does not state how 32x32 and grey 28x28 images become 96x96x3. Taken here: bilinear
interpolation with antialiasing (as Pillow's and torchvision's default), colour to grey by the luma
of ITU-R BT.601, grey to colour by repetition.
Evidence: `tests/benchmark/data/test_images.py` compares with Pillow and torchvision.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

_LUMA = torch.tensor([0.299, 0.587, 0.114])
_CHUNK = 2048


def prepare(
    images: Tensor,
    index: Tensor | None = None,
    image_size: int | None = None,
    channels: int | None = None,
) -> Tensor:
    """The images at `index` (all if None), square with `image_size` pixels and `channels`.

    images: uint8, n x 1 or 3 x height x width, possibly a view of a mapped file. Returns contiguous
    uint8, filled in chunks so that images are never held twice; the same if nothing is to be done.

    Raises `ValueError` for other channels than 1 and 3.
    """
    wanted = images.shape[1] if channels is None else channels
    if {images.shape[1], wanted} - {1, 3}:
        raise ValueError(f"images have 1 or 3 channels, not {images.shape[1]} and {wanted}")
    size = tuple(images.shape[2:]) if image_size is None else (image_size, image_size)
    same = size == tuple(images.shape[2:]) and wanted == images.shape[1]
    if index is None and same and images.is_contiguous():
        return images
    n = len(images) if index is None else len(index)
    out = torch.empty((n, wanted, *size), dtype=torch.uint8)
    for first in range(0, n, _CHUNK):
        rows = slice(first, first + _CHUNK)
        some = images[rows] if index is None else images[index[rows]]
        out[rows] = some if same else _brought(some, size, wanted)
    return out


def _brought(images: Tensor, size: tuple[int, ...], channels: int) -> Tensor:
    some = images.to(torch.float32)
    if channels == 1 and images.shape[1] == 3:
        some = (some * _LUMA.view(1, 3, 1, 1)).sum(dim=1, keepdim=True)
    if size != tuple(images.shape[2:]):
        some = F.interpolate(some, size=list(size), mode="bilinear", antialias=True)
    whole = some.round_().clamp_(0, 255).to(torch.uint8)
    return whole.expand(-1, channels, -1, -1)
