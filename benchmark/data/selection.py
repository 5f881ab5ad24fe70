"""Fixed random choices of images that no trial changes: halves and subsets."""

from __future__ import annotations

import torch
from torch import Tensor

from fedrepro.methods.seeds import Seeds

# Streams under names of their own, the same for every trial.
_FIXED = Seeds(0)


def mixed_order(n: int, labels: Tensor | None, *names: str | int) -> Tensor:
    """A fixed random order (int64, n) whose every beginning has the classes of the whole.

    Within a class the order is random, and the classes are interleaved evenly: the first m images
    hold of every class the same fraction, rounded. Without `labels` it is a permutation. Orders
    of other `names` are independent.
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


def half(n: int, labels: Tensor | None, which: int, *names: str | int) -> Tensor:
    """The first or second of two fixed disjoint halves, sorted; `which` is 0 or 1.

    The first half has the odd image.
    """
    order = mixed_order(n, labels, "halves", *names)
    middle = (n + 1) // 2
    return (order[middle:] if which else order[:middle]).sort().values


def seven_tenths(n: int, labels: Tensor | None, rest: bool, *names: str | int) -> Tensor:
    """Fixed seven tenths, in the proportions of the classes and sorted; or the `rest`."""
    order = mixed_order(n, labels, "seven tenths", *names)
    cut = round(0.7 * n)
    return (order[cut:] if rest else order[:cut]).sort().values


def subset(n: int, labels: Tensor | None, images: int, *names: str | int) -> Tensor:
    """A fixed random subset of `images`, sorted; larger subsets hold the smaller ones."""
    return mixed_order(n, labels, "subset", *names)[:images].sort().values
