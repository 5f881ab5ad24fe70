"""Fixed random choices of images, which no trial changes, and the size that an encoder takes.

CP-CFL does not state how 32x32 and grey 28x28 images become 96x96x3. Taken here: bilinear
interpolation with antialiasing (as Pillow's and torchvision's default), colour to grey by the luma
of ITU-R BT.601, grey to colour by repetition.
Evidence: `tests/benchmark/data/test_images.py` compares with Pillow and torchvision.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from ...methods.seeds import Seeds

_LUMA = torch.tensor([0.299, 0.587, 0.114])
_CHUNK = 2048


def prepare(
    images: Tensor,
    index: Tensor | None = None,
    image_size: int | None = None,
    channels: int | None = None,
) -> Tensor:
    """The images at `index` (all if None), square with `image_size` pixels and `channels`.

    `images`: uint8, n x 1 or 3 x height x width, possibly a view of a mapped file; `ValueError` for
    other channels. Returns contiguous uint8, filled in chunks so that images are never held twice;
    the same if nothing is to be done."""
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


# Streams under names of their own, the same for every trial.
_FIXED = Seeds(0)
SHARES = {
    "train-a": ("halves", False),
    "train-b": ("halves", True),
    "train-70": ("seven tenths", False),
    "train-30": ("seven tenths", True),
}
"""How the training images are divided, and whether a part is the rest of that."""


def mixed_order(n: int, labels: Tensor | None, *names: str | int) -> Tensor:
    """A fixed random order (int64, n): its first m images hold the same fraction of every class.
    Fractions are rounded. Without `labels`: a permutation. Other `names`: an independent order."""
    order = torch.randperm(n, generator=_FIXED.generator("data", *names))
    if labels is None:
        return order
    place = torch.empty(n, dtype=torch.float64)
    mine = labels.cpu()[order]
    for c in sorted(set(mine.tolist())):
        members = order[mine == c]
        place[members] = (torch.arange(len(members), dtype=torch.float64) + 0.5) / len(members)
    # Sorting what is shuffled breaks ties between classes at random, always in the same way.
    return order[place[order].argsort(stable=True)]


def share(part: str, n: int, labels: Tensor | None, *names: str | int) -> Tensor:
    """A fixed share of n images, sorted; `train-a` has the odd image of two halves."""
    kind, is_rest = SHARES[part]
    order = mixed_order(n, labels, kind, *names)
    cut = (n + 1) // 2 if kind == "halves" else round(0.7 * n)
    return (order[cut:] if is_rest else order[:cut]).sort().values


def subset(n: int, labels: Tensor | None, images: int, *names: str | int) -> Tensor:
    """A fixed random subset of `images`, sorted; larger subsets hold the smaller ones."""
    return mixed_order(n, labels, "subset", *names)[:images].sort().values
