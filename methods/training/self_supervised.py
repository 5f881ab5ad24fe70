"""Self-supervised local training of many clients: any objective on views of their own images.

A client's views come from its own random stream of the round, and so do not depend on the clients
that share its steps.
Evidence: `tests/methods/test_self_supervised.py` (batched against one by one, one client against
central pre-training).
"""

from __future__ import annotations

from torch import Tensor

from fedrepro.methods.data.federation import ImageSet, to_float
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.objectives.base import Learner
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.local_loss import Batch, LocalLoss
from fedrepro.methods.training.probing import image_bytes


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
        return self.augmentation.stacked_views(images, n_views, streams, batch.counts())


class SelfSupervisedLoss(LocalLoss):
    """The loss of `learner` on views of each client's images.

    client_state: what the learner has besides its weights; it changes after a step.
    """

    smallest_batch = 2

    def __init__(
        self,
        learner: Learner,
        encoder: Layer,
        portion: ImageSet,
        views: ClientViews | None,
        n_views: int = 2,
    ) -> None:
        self.learner, self.encoder, self.portion = learner, encoder, portion
        self.views, self.n_views = views, n_views

    @property
    def image_bytes(self) -> int:
        return self.n_views * image_bytes(self.encoder, *self.portion.images.shape[1:])

    def drawn(self, batch: Batch) -> list[Tensor]:
        """The views that the loss sees; the images themselves where none are drawn."""
        if self.views is None:
            return [to_float(self.portion.images[batch.index])] * self.n_views
        return self.views(batch, self.n_views)

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        labels = None if self.portion.labels is None else self.portion.labels[batch.index]
        return self.learner.loss(state, client_state, self.drawn(batch), labels)

    def after(self, state: State, client_state: State, batch: Batch) -> None:
        self.learner.update(state, client_state)
