"""What partitions that measure everybody on the whole test set have in common."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fedrepro.methods.data.federation import Federation, ImageSet


def federation_of(
    train: ImageSet, test: ImageSet, hands: Sequence[Tensor], n_classes: int
) -> Federation:
    """A federation of clients with training images `hands` (int64 each).

    All clients' test images are the same tensor, so that evaluation passes over them once.

    Raises `ValueError` if a client is left without images.
    """
    empty = sum(len(hand) == 0 for hand in hands)
    if empty:
        raise ValueError(f"{empty} of {len(hands)} clients would hold no image")
    everything = torch.arange(len(test))
    group = torch.zeros(len(hands), dtype=torch.int64)
    return Federation(train, test, tuple(hands), (everything,) * len(hands), group, n_classes)


def labels_of(portion: ImageSet) -> Tensor:
    """Labels on the CPU.

    Raises `ValueError` if the portion has none.
    """
    if portion.labels is None:
        raise ValueError("dealing by class needs labels, and these images have none")
    return portion.labels.cpu()
