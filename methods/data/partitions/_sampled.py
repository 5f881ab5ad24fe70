"""Clients with equally many images each, some of whom never train.

Paper: Calibre, Section V-A. Clients hold D over their number of training images, written (S,
#samples) or (0.3, #samples). Besides the 100, 50 novel clients are left out of training.
Unstated, and what is done here:
* Which images the novel clients hold: they receive theirs last, by the same rule and from the same
  images. So they share images with clients that train wherever those have used up a class.
* Whether clients may share an image otherwise: only where a class has too few (`dealing`).
* A client's `test_size` test images: in its training images' class proportions (Section IV-A).
"""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from pydantic import NonNegativeInt, PositiveInt

from ...seeds import Seeds
from ..dealing import counted_out
from ..federation import Federation, ImageSet
from .base import Partition


@dataclass(frozen=True)
class Sampled(Partition):
    """count: training clients. `novel`: others, untrained. `samples`, `test_size`: of a client."""

    count: PositiveInt = 100
    novel: NonNegativeInt = 50
    samples: PositiveInt = 500
    test_size: PositiveInt = 100

    @abstractmethod
    def wanted(self, n_classes: int, seeds: Seeds) -> list[dict[int, int]]:
        """Training images by class of every client, novel ones last; each sums to `samples`."""

    def deal(self, train: ImageSet, test: ImageSet, n_classes: int, seeds: Seeds) -> Federation:
        """Raises `ValueError` without labels or with too few images of a class for one client."""
        wanted = self.wanted(n_classes, seeds)
        group = torch.zeros(len(wanted), dtype=torch.int64)
        dealt = counted_out(train, test, wanted, self.test_size, seeds)
        return Federation(*dealt, group, n_classes, novel=self.novel)
