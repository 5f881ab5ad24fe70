"""Quantity-based label skew: every client holds S classes and equally many images of each.

Paper: Calibre, Section V-A, Q-non-i.i.d., written (S, #samples).
Unstated: how a client's images are divided among its classes (evenly), and which classes it holds.
They are drawn at random, all classes equally often while that is possible. So 100 clients with 2
classes of CIFAR-10 and 500 images use every image once. More in `_sampled`.
Evidence: `tests/methods/test_partitions.py`.
"""

from dataclasses import dataclass

import torch
from pydantic import PositiveInt

from ...seeds import Seeds
from ..dealing import Pile, proportional
from ._sampled import Sampled


@dataclass(frozen=True)
class Quantity(Sampled):
    """classes: S, classes of a client."""

    classes: PositiveInt = 2

    def __post_init__(self) -> None:
        if self.classes > self.samples:
            raise ValueError(f"classes = {self.classes} have {self.samples} images")

    def wanted(self, n_classes: int, seeds: Seeds) -> list[dict[int, int]]:
        """Equally many of each of S classes. Raises `ValueError` if the data have fewer classes."""
        if self.classes > n_classes:
            raise ValueError(f"classes = {self.classes}, but the data have {n_classes} classes")
        pile = Pile(torch.arange(n_classes), seeds.generator("partition", "classes"))
        hands = [pile.draw(self.classes) for _ in range(self.count + self.novel)]
        return [proportional(dict.fromkeys(hand, 1), self.samples) for hand in hands]
