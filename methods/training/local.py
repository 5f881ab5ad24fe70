"""Supervised local training of many clients: cross-entropy on their own labelled images.

Images may be augmented: every step then sees one random view of each, drawn as the views of
self-supervised training are. A frozen encoder encodes each image once, as it is.
Evidence: `tests/methods/test_local.py`, `tests/methods/test_personalized.py` (torch.nn).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..data.federation import Federation, ImageSet, to_float
from ..nn.classifier import HEAD, Classifier
from ..nn.reached import ReachedPlaces, reached_places, restored, trimmed
from ..optim.optimizers import moves_by_gradients_alone
from ..seeds import Seeds
from ..state import State, n_models, part, spread, take
from .evaluate import features
from .local_loss import Batch, LocalLoss, LocalOptions
from .probing import image_bytes, is_batch_independent
from .steps import ENGINES_CHOICE, Grouping, train_steps

ENCODED = "encoded"

DrawViews = Callable[[Batch, int], list[Tensor]]
"""Draws so many views of a batch, each models x batch x C x H x W
(`methods.training.client_views`)."""


class Supervised(LocalLoss):
    """Mean cross-entropy of each model over its batch.
    In epochs outside `encoder_epochs` (None for all), side by side, the encoder is frozen, in
    evaluation mode, and images are encoded once: `client_state[ENCODED]`, models x images x dim."""

    views: DrawViews | None = None
    """What steps see instead of the images, where clients augment them."""

    def __init__(self, model: Classifier, portion: ImageSet, encoder_epochs: range | None) -> None:
        assert portion.labels is not None
        self.model, self.portion, self.labels = model, portion, portion.labels
        self.encoder_epochs = encoder_epochs

    @property
    def image_bytes(self) -> int:
        return image_bytes(self.model, *self.portion.images.shape[1:])

    def is_batch_independent(self) -> bool:
        """As the network is; a subclass whose loss mixes images overrides this."""
        return is_batch_independent(self.model, *self.portion.images.shape[1:])

    def _frozen(self, epoch: int) -> bool:
        return self.encoder_epochs is not None and epoch not in self.encoder_epochs

    def begin_epoch(
        self, state: State, client_state: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        if self._frozen(epoch) and ENCODED not in client_state:
            each = features(self.model, state, torch.arange(len(own)), self.portion, list(own))
            client_state[ENCODED] = torch.stack(each)

    def images(self, batch: Batch) -> Tensor:
        """What the step sees, models x batch x C x H x W in [0, 1]; draws views at each call."""
        if self.views is None:
            return to_float(self.portion.images[batch.index])
        return self.views(batch, 1)[0]

    def logits(self, state: State, client_state: State, batch: Batch) -> Tensor:
        """Logits of the batch, models x batch x classes."""
        if not self._frozen(batch.epoch):
            return self.model(state, self.images(batch), training=True)
        rows = torch.arange(len(batch.at), device=batch.at.device).unsqueeze(1)  # models x 1
        h = client_state[ENCODED][rows, batch.at]  # models x batch x dim
        return self.model.logits(state, h, training=True)

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        return batch.mean(
            cross_entropies(self.logits(state, client_state, batch), self.labels[batch.index])
        )


def cross_entropies(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each image, models x batch; models x batch x classes, models x batch."""
    each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return each.view(labels.shape)


def train_clients(
    model: Classifier,
    pool: State,
    choice: Tensor,
    federation: Federation,
    clients: Tensor,
    options: LocalOptions,
    seeds: Seeds,
    t: int,
    encoder_epochs: int | range | None = None,
    grouping: Grouping = ENGINES_CHOICE,
    views: DrawViews | None = None,
) -> State:
    """The models of `clients` (int64) after local training in round `t`, stacked in that order.
    `choice`: int64, (clients,), the model of `pool` that a client starts from. `encoder_epochs`:
    those that train the encoder (CP-CFL's E_l,f), the first so many or a range; None for all. In
    the other epochs it is frozen. `views`: of `Supervised`."""
    if isinstance(encoder_epochs, int):
        encoder_epochs = range(encoder_epochs)
    own_of = [federation.train_of[client] for client in clients.tolist()]

    def train(local_loss: Supervised, state: State, grouping: Grouping) -> State:
        return train_steps(
            local_loss, state, {}, own_of, options, seeds, t, clients, grouping
        ).state

    if encoder_epochs is not None and not encoder_epochs:
        start = take(pool, choice)
        heads = _Heads(
            model, federation.train, features(model, pool, choice, federation.train, own_of)
        )
        # All heads at once: they are small.
        grouping = replace(grouping, at_once=grouping.at_once or len(clients))
        return {**start, **train(heads, part(start, HEAD), grouping)}
    # Read and not returned, so that one model for all need not be copied.
    start = spread(pool, len(choice)) if n_models(pool) == 1 else take(pool, choice)
    places: ReachedPlaces = {}
    # A client alone trains all weights: `methods.costs.counting` counts them.
    if len(clients) > 1 and moves_by_gradients_alone(options.optimizer, options.weight_decay):
        places = reached_places(model, start, to_float(federation.train.images[own_of[0][0]]))
    whole = Supervised(model, federation.train, encoder_epochs)
    whole.views = views
    return restored(train(whole, trimmed(start, places), grouping), start, places)


def adapted_heads(
    model: Classifier,
    start: State,
    federation: Federation,
    options: LocalOptions,
    seeds: Seeds,
    t: int,
) -> State:
    """The models of all clients (`start`, stacked) with heads trained on frozen encoders.
    Calibre, Section V-A, and the fine-tuning of FedAvg-FT, SCAFFOLD-FT, FedPer, FedRep, FedBABU.
    Unstated: the encoder is in evaluation mode (its running statistics stay); no augmentation."""
    everyone = torch.arange(federation.n_clients)
    return train_clients(
        model, start, everyone, federation, everyone, options, seeds, t, encoder_epochs=0
    )


class _Heads(Supervised):
    """Heads alone; `encoded`: representations, images x dim, of each client."""

    def __init__(self, model: Classifier, portion: ImageSet, encoded: Sequence[Tensor]) -> None:
        super().__init__(model, portion, encoder_epochs=range(0))
        self.encoded = encoded

    @property
    def image_bytes(self) -> int:
        return image_bytes(self.model.head, self.model.dim)

    def is_batch_independent(self) -> bool:
        return is_batch_independent(self.model.head, self.model.dim)

    def begin_epoch(
        self, state: State, client_state: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        if ENCODED not in client_state:
            encoded = [self.encoded[member] for member in members]
            client_state[ENCODED] = pad_sequence(encoded, batch_first=True)
