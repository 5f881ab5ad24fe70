"""What an FCL client minimises: contrast with fused features, and neighbourhood matching.

Eqs. 3, 6 and 12 of FCL. The bank of local features is a queue of keys (`queue` in the client's
state). A second queue (`images`) has their images, to measure false negatives; no loss sees these.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...metrics.false_negatives import measured_ratio
from ...objectives._memory import enqueue, is_filled, new_queue
from ...objectives._neighbourhood_matching import draw_candidates, neighbourhood_loss
from ...objectives.moco import QUEUE, MoCoLearner, info_nce
from ...privacy.instahide import instahide
from ...state import State
from ...training.local_loss import Batch
from ...training.self_supervised import SelfSupervisedLoss
from ..base import Round
from ._features import batchwise, choose, padded
from ._self_supervised import SelfSupervised

IMAGES = "images"
REMOTE, EXISTS, SHOWN = "remote.features", "remote.exists", "remote.images"


@dataclass(frozen=True)
class FusionOptions(SelfSupervised):
    """Options of every method, those of MoCo, and what FCL adds. `feature_fusion`: whether features
    are exchanged. `local_negatives`: whether local ones stay negatives next to remote ones.
    `mixed_images`: k of InstaHide, 0 for no encryption. `neighbourhood_matching`: whether Eq. 11 is
    added, with N, τ_nm and λ."""

    feature_fusion: bool = True
    local_negatives: bool = False
    mixed_images: int = 4
    neighbourhood_matching: bool = True
    neighbours: int = 10
    matching_temperature: float = 0.2
    matching_weight: float = 1.0


@dataclass(frozen=True)
class Remote:
    """What a client received: features x width, and the images that they show (measurement)."""

    features: Tensor
    images: Tensor


def new_bank(learner: MoCoLearner, clients: int, like: Tensor) -> State:
    """Empty banks of local features of `clients`, with the images that they show."""
    size, place = learner.options.queue_size, like.new_zeros(clients, 1)
    return {
        **new_queue(QUEUE, size, learner.width, place),
        **new_queue(IMAGES, size, 1, place.long()),
    }


class FusionLoss(SelfSupervisedLoss):
    """The loss of Eq. 12 for a round's participants. `remote`: per participant, or empty before the
    first upload. After training, `uploads` and `uploaded` hold each participant's features and the
    images that they show; `ratio`: share of false negatives (NaN without labels or negatives)."""

    def __init__(
        self, options: FusionOptions, learner: MoCoLearner, now: Round, remote: Sequence[Remote]
    ) -> None:
        task, views = now.task, now.views()
        super().__init__(learner, task.model.encoder, task.federation.train, views)
        self.moco, self.client_views, self.options, self.remote = learner, views, options, remote
        self.n_classes = task.federation.n_classes
        self._candidates, self._encryption = now.streams("candidates"), now.streams("encryption")
        self.uploads: dict[int, Tensor] = {}
        self.uploaded: dict[int, Tensor] = {}
        self._total = torch.zeros(len(now), dtype=torch.float64)
        self._steps = torch.zeros_like(self._total)
        self._unread: list[tuple[tuple[int, ...], Tensor]] = []

    @property
    def ratio(self) -> Tensor:
        """Mean over all steps that had negatives, (clients,); read after all of them."""
        self._read()
        return self._total / self._steps

    def _read(self) -> None:
        """Adds up what was measured since, of many steps at once: the host waits for none."""
        if self._unread:
            read = torch.cat([ratio for _, ratio in self._unread]).cpu()
            each = torch.split(read, [len(members) for members, _ in self._unread])
            for (members, _), ratio in zip(self._unread, each, strict=True):
                self._steps[list(members)] += ratio.isfinite()
                self._total[list(members)] += ratio.nan_to_num()
            self._unread.clear()

    def begin_epoch(
        self, state: State, client_state: State, members: Sequence[int], own: Tensor, epoch: int
    ) -> None:
        if self.remote and REMOTE not in client_state:
            received = [self.remote[member] for member in members]
            features = padded([bank.features for bank in received])
            client_state[REMOTE], client_state[EXISTS] = features
            client_state[SHOWN], _ = padded([bank.images for bank in received])

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        """Eq. 12; the keys then enter the local bank."""
        views = self.drawn(batch)  # each models x batch x C x H x W
        q = self.moco.project(state, views[0])  # models x batch x width
        with torch.no_grad():
            k = self.moco.project(client_state, views[1])  # models x batch x width
        features, exist, shown = self._banks(client_state)  # models x n x width, models x n twice
        valid = exist & self._contrasted(client_state)  # models x n
        loss = info_nce(q, k, features, self.moco.options.temperature, valid).mean(1)  # models
        if self.options.neighbourhood_matching:
            matching = self._matching(q, features, exist, batch)
            loss = loss + self.options.matching_weight * matching
        self._measure(batch, shown, valid)
        enqueue(client_state, QUEUE, k)
        enqueue(client_state, IMAGES, batch.index.unsqueeze(2))
        return loss

    def _banks(self, client_state: State) -> tuple[Tensor, Tensor, Tensor]:
        """Local features, then remote ones (models x n x width), which exist, what they show."""
        local = client_state[f"{QUEUE}.features"]
        filled = is_filled(client_state, QUEUE)  # models x queue
        images = client_state[f"{IMAGES}.features"].squeeze(2)  # models x queue
        if not self.remote:
            return local, filled, images
        return (
            torch.cat([local, client_state[REMOTE]], dim=1),
            torch.cat([filled, client_state[EXISTS]], dim=1),
            torch.cat([images, client_state[SHOWN]], dim=1),
        )

    def _contrasted(self, client_state: State) -> Tensor:
        """bool, models x n: which of `_banks` are negatives; local ones if wanted, or alone."""
        filled = is_filled(client_state, QUEUE)
        if not self.remote:
            return torch.ones_like(filled)
        alone = ~client_state[EXISTS].any(1, keepdim=True)
        local = (alone | self.options.local_negatives).expand_as(filled)
        return torch.cat([local, torch.ones_like(client_state[EXISTS])], dim=1)

    def _matching(self, q: Tensor, features: Tensor, exist: Tensor, batch: Batch) -> Tensor:
        """Eq. 11 on K candidates from both banks, (models,)."""
        streams = [self._candidates[member] for member in batch.members]
        drawn = draw_candidates(exist, self.moco.options.queue_size, streams)  # models x K
        # models x K x width
        candidates = features.gather(1, drawn.unsqueeze(2).expand(-1, -1, features.shape[2]))
        return neighbourhood_loss(
            q,
            candidates,
            self.options.neighbours,
            self.options.matching_temperature,
            exist.gather(1, drawn),
        )

    def _measure(self, batch: Batch, shown: Tensor, valid: Tensor) -> None:
        labels = self.portion.labels
        if labels is None:
            return
        ratio = measured_ratio(labels[batch.index], labels[shown], self.n_classes, valid)
        self._unread.append((batch.members, ratio))

    def end(self, state: State, client_state: State, members: Sequence[int], own: Tensor) -> None:
        """Encodes encrypted views of K of each client's images by the momentum encoder."""
        if not self.options.feature_fusion:
            return
        streams = [self._encryption[member] for member in members]
        chosen = choose(own, self.moco.options.queue_size, streams)
        views = self.client_views(Batch(tuple(members), chosen, chosen, epoch=0), 1)[0]
        mixed = min(self.options.mixed_images, chosen.shape[1])
        if mixed > 0:
            pairs = zip(views, streams, strict=True)
            views = torch.stack([instahide(x, mixed, stream) for x, stream in pairs])
        features = batchwise(self.moco.project, client_state, views, self.options.batch_size)
        for place, member in enumerate(members):
            self.uploads[member], self.uploaded[member] = features[place], chosen[place]
