"""FedCA: SimCLR with a shared dictionary of negatives, aligned to a pre-trained model.

Paper: fcl, Section 6 (Zhang et al. 2020). Clients upload features of their images; the server
collects them in a dictionary that everybody contrasts with. On public images every client's
representations are pulled to those of a model that was trained on these images beforehand. The run
starts from that model's pre-training (`pretraining.*` in a spec).
Unstated by fcl: weight and public images (see its spec). Here a client uploads features of K random
images of its own after training. The dictionary holds everybody's, its own too. Alignment is the
squared distance of the encoders' outputs, in steps of as many random public images as a batch has.
Public images and the model do not count as sent. Clients start from random weights.
Evidence: `tests/methods/test_fedca.py` against plain loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...data.federation import to_float
from ...nn.layers import is_buffer
from ...objectives._memory import unit
from ...objectives.simclr import SimCLR, SimCLRLearner
from ...state import State, placed, repeat
from ...training.local_loss import Batch
from ...training.self_supervised import SelfSupervisedLoss
from ..base import Memory, Message, Round, Server, Task
from ._features import Banks, batchwise, choose, packed, unpacked
from ._self_supervised import SelfSupervised

DICTIONARY = "dictionary"


def nt_xent_with_dictionary(
    z_i: Tensor, z_j: Tensor, dictionary: Tensor, temperature: float
) -> Tensor:
    """NT-Xent, (models,), that also repels `dictionary`, entries x width; all of length one."""
    z = torch.cat([z_i, z_j], dim=1)  # models x 2 batch x width
    within = torch.bmm(z, z.transpose(1, 2)) / temperature  # models x 2 batch x 2 batch
    itself = torch.eye(z.shape[1], dtype=torch.bool, device=z.device)
    within = within.masked_fill(itself, -torch.inf)
    beyond = z @ dictionary.T / temperature  # models x 2 batch x entries
    positive = (z_i * z_j).sum(2).repeat(1, 2) / temperature  # models x 2 batch
    return (torch.cat([within, beyond], dim=2).logsumexp(2) - positive).mean(1)


def alignment(h: Tensor, target: Tensor) -> Tensor:
    """Squared distance of representations models x batch x dim, averaged over images, (models,)."""
    return (h - target).square().sum(2).mean(1)


class DictionaryLoss(SelfSupervisedLoss):
    """Contrast with batch and dictionary, and alignment on public images.
    public: uint8 images. After training `uploads` holds each participant's features."""

    def __init__(self, method: FedCA, now: Round, dictionary: Tensor | None) -> None:
        task, views = now.task, now.views()
        assert task.source is not None
        assert task.encoder is not None
        self.simclr, self.method, self.dictionary = method.learner(task), method, dictionary
        super().__init__(self.simclr, task.model.encoder, task.federation.train, views)
        self.public = task.source().images.to(task.device)
        self.trained_on_it = placed(task.encoder, task.device)
        self._drawn, self._chosen = now.streams("public"), now.streams("uploads")
        self.uploads: dict[int, Tensor] = {}

    @property
    def image_bytes(self) -> int:
        return super().image_bytes * 3 // 2  # two views and a public image

    def project(self, state: State, x: Tensor) -> Tensor:
        """Features of length one, models x batch x width."""
        h = self.simclr.encoder(state, x, training=True)  # models x batch x dim
        return unit(self.simclr.projector(state, h, training=True))  # models x batch x width

    def loss(self, state: State, client_state: State, batch: Batch) -> Tensor:
        z_i, z_j = self.project(state, torch.cat(self.drawn(batch), dim=1)).chunk(2, dim=1)
        dictionary = z_i.new_zeros(0, z_i.shape[2]) if self.dictionary is None else self.dictionary
        contrast = nt_xent_with_dictionary(z_i, z_j, dictionary, self.simclr.temperature)
        return contrast + self.method.alignment_weight * self._alignment(state, batch)

    def _alignment(self, state: State, batch: Batch) -> Tensor:
        n, size = len(self.public), batch.index.shape[1]
        streams = [self._drawn[member] for member in batch.members]
        index = torch.stack([torch.randint(n, (size,), generator=stream) for stream in streams])
        x = to_float(self.public[index.to(batch.index.device, non_blocking=True)])
        with torch.no_grad():
            target = self.encoder(self.trained_on_it, x.flatten(0, 1).unsqueeze(0))
        # Public images pass with their own statistics and leave the client's running ones alone.
        aside = {name: v.clone() if is_buffer(name) else v for name, v in state.items()}
        return alignment(self.encoder(aside, x, training=True), target.view(*index.shape, -1))

    def end(self, state: State, client_state: State, members: Sequence[int], own: Tensor) -> None:
        """Projects K of each client's own images for the dictionary."""
        chosen = choose(own, self.method.queue_size, [self._chosen[member] for member in members])
        x = to_float(self.portion.images[chosen])
        features = batchwise(self.project, state, x, self.method.batch_size)
        self.uploads.update(zip(members, features, strict=True))


@dataclass(frozen=True)
class DictionaryServer:
    """The averaged network, and what clients uploaded last."""

    weights: State
    banks: Banks


@dataclass(frozen=True)
class FedCA(SelfSupervised):
    """Options of every method; temperature and projector as in SimCLR, of whose projector
    `normalised_layers` have batch normalisation. `queue_size`: K, features that a client adds to
    the dictionary. `alignment_weight`: of the distance to the pre-trained model."""

    temperature: float = 0.2
    projector_widths: tuple[int, ...] = (512, 128)
    normalised_layers: int = 0
    queue_size: int = 4096
    alignment_weight: float = 0.01

    def learner(self, task: Task) -> SimCLRLearner:
        options = SimCLR(self.temperature, self.projector_widths)
        return SimCLRLearner(task.model.encoder, task.model.dim, options, self.normalised_layers)

    def start(self, task: Task, attempt: int) -> Server:
        """Random weights; `ValueError` if no encoder was pre-trained."""
        if task.encoder is None or task.source is None:
            raise ValueError("FedCA aligns to a pre-trained encoder, and there is none")
        return DictionaryServer(super().start(replace(task, encoder=None), attempt), {})

    def broadcast(self, now: Round, server: Server) -> Message:
        shared: dict[str, State] = {"weights": server.weights}
        if server.banks:
            everything = torch.cat([bank for _, bank in sorted(server.banks.items())])
            shared["features"] = {DICTIONARY: everything}
        return Message(shared=shared)

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        dictionary = download.shared.get("features", {}).get(DICTIONARY)
        loss = DictionaryLoss(self, now, dictionary)
        start = repeat(download.shared["weights"], len(now))
        trained = self.train(now, loss, start)
        features = packed([loss.uploads[member] for member in range(len(now))])
        each = {"weights": trained.state, "features": features}
        return Message(per_client=each, log={"loss": trained.loss})

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        received = zip(now.clients.tolist(), unpacked(upload.per_client["features"]), strict=True)
        averaged = now.average(upload.per_client["weights"])
        return DictionaryServer(averaged, {**server.banks, **dict(received)})

    def encoder(self, server: DictionaryServer) -> State:
        return server.weights
