"""Random views of clients' images, each client's from a random stream of its own.

They do not depend on the clients that share a step, nor on what the images are learnt for.
Evidence: `tests/methods/test_self_supervised.py`, `tests/methods/test_plain.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from ..data.federation import ImageSet
from ..seeds import Seeds
from .local_loss import Batch

if TYPE_CHECKING:
    # A type alone, so that a run without views does not depend on how they are drawn.
    from ..data.views.augment import Augmentation


class ClientViews:
    """Draws views of clients' images in one round, each client's from a stream of its own."""

    def __init__(
        self, augmentation: Augmentation, portion: ImageSet, seeds: Seeds, t: int, clients: Tensor
    ) -> None:
        self.augmentation, self.portion = augmentation, portion
        self._streams = [seeds.generator("views", t, client) for client in clients.tolist()]

    def __call__(self, batch: Batch, n_views: int) -> list[Tensor]:
        """`n_views` views of the batch in [0, 1], each models x batch x C x H x W."""
        streams = [self._streams[member] for member in batch.members]
        images = self.portion.images[batch.index]
        return self.augmentation.stacked_views(images, n_views, streams, batch.counts)
