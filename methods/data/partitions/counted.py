"""Clients with a given number of images of every class.

Paper: mfcl, Figure 4 (one client with 4950 airplanes and 50 cars, one with the opposite).
Unstated: which images (random ones, each for one client while a class lasts, see `dealing`).
Evidence: `tests/methods/test_partitions.py`.
"""

from dataclasses import dataclass

from pydantic import PositiveInt

from ...seeds import Seeds
from ..dealing import deal_by_class, federation_of
from ..federation import Federation, ImageSet
from .base import Partition


@dataclass(frozen=True)
class Counted(Partition):
    """counts: for each client its images of class 0, 1, ...; `count` clients in all."""

    count: PositiveInt = 2
    counts: tuple[tuple[int, ...], ...] = ((1, 1), (1, 1))

    def __post_init__(self) -> None:
        if len(self.counts) != self.count:
            raise ValueError(f"counts has {len(self.counts)} clients, count = {self.count}")
        if any(min(own, default=-1) < 0 or sum(own) == 0 for own in self.counts):
            raise ValueError(f"counts = {self.counts}: every client needs images, none negative")

    def deal(self, train: ImageSet, test: ImageSet, n_classes: int, seeds: Seeds) -> Federation:
        """Raises `ValueError` without labels, and with too few classes or images of one."""
        listed = max(map(len, self.counts))
        if listed > n_classes:
            raise ValueError(f"counts lists {listed} classes, the data have {n_classes}")
        wanted = [{c: n for c, n in enumerate(own) if n} for own in self.counts]
        hands = deal_by_class(wanted, train.labels, "training", seeds)
        return federation_of(train, test, hands, n_classes)
