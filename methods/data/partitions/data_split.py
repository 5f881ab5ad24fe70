"""Classes partitioned among clients: of M classes, each of K clients has M/K of its own.

Papers: fedrlc, Section VII-A ("data-split"), after FedU and FedEMA; fcl's first non-IID setting.
Unstated: which classes go together (drawn at random for each trial); K that does not divide M, and
K > M. Taken: the classes form a row, which is cut into K equal pieces. If a cut goes through a
class, its images are split at random in that proportion.
Evidence: `tests/methods/test_partitions.py`.
"""

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from ...seeds import Seeds
from ..dealing import federation_of
from ..federation import Federation, ImageSet
from .base import Partition


@dataclass(frozen=True)
class DataSplit(Partition):
    """count: K, clients."""

    def deal(self, train: ImageSet, test: ImageSet, n_classes: int, seeds: Seeds) -> Federation:
        """Raises `ValueError` if the data have no labels or a client would hold no image."""
        labels = train.known_labels("dealing by class").cpu()
        classes = torch.randperm(n_classes, generator=seeds.generator("partition", "classes"))
        piles = [self._pile(labels, int(c), seeds) for c in classes]
        hands = []
        for client in range(self.count):
            low, high = (Fraction(n_classes * k, self.count) for k in (client, client + 1))
            pieces = [
                _piece(pile, low - place, high - place)
                for place, pile in enumerate(piles)
                if place < high and place + 1 > low
            ]
            hands.append(torch.cat(pieces).sort().values)
        return federation_of(train, test, hands, n_classes)

    def _pile(self, labels: Tensor, c: int, seeds: Seeds) -> Tensor:
        images = torch.nonzero(labels == c).flatten()
        stream = seeds.generator("partition", "data-split", c)
        return images[torch.randperm(len(images), generator=stream)]


def _piece(pile: Tensor, low: Fraction, high: Fraction) -> Tensor:
    first, last = (min(max(bound, Fraction(0)), Fraction(1)) for bound in (low, high))
    return pile[int(first * len(pile)) : int(last * len(pile))]
