"""Fixed random choices of images that no trial changes: shares and subsets."""

import torch
from torch import Tensor

from ...methods.seeds import Seeds

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

    Fractions are rounded. Without `labels` it is a permutation. Orders of other `names` are
    independent.
    """
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
