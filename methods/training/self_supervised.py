"""Self-supervised local training of many clients: any objective on views of their own images.
Evidence: `tests/methods/test_self_supervised.py`."""

from torch import Tensor

from ..data.federation import ImageSet, to_float
from ..nn.layers import Layer
from ..objectives.base import Learner
from ..state import State
from .client_views import ClientViews
from .local_loss import Batch, LocalLoss
from .probing import image_bytes


class SelfSupervisedLoss(LocalLoss):
    """The loss of `learner` on views; client_state: what it has besides its weights."""

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
