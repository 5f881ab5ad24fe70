"""Images partitioned at random, equally many to each client.

Papers: fedrlc (Section VII-A), fcl (Section 6), which say no more than "IID".
Unstated: what becomes of a remainder (the first clients have one image more), and the test set.
Every client is measured on all of it, so that one global model has one accuracy.
Evidence: `tests/methods/test_partitions.py`.
"""

from dataclasses import dataclass

import torch

from ...seeds import Seeds
from ..dealing import federation_of
from ..federation import Federation, ImageSet
from .base import Partition


@dataclass(frozen=True)
class IID(Partition):
    """count: clients."""

    def deal(self, train: ImageSet, test: ImageSet, n_classes: int, seeds: Seeds) -> Federation:
        """Raises `ValueError` if there are fewer images than clients."""
        order = torch.randperm(len(train), generator=seeds.generator("partition", "iid"))
        hands = [hand.sort().values for hand in torch.tensor_split(order, self.count)]
        return federation_of(train, test, hands, n_classes)
