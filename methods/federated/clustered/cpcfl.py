"""CP-CFL: clustered training that starts from one pre-trained encoder and random heads.

Paper: CP-CFL, Algorithm 2. Rounds t < T_c: each client takes a random model and trains its head
only. From t = T_c: it takes the model of lowest loss (Eq. 5) and trains all of it. Section 4.5: the
encoder is trained in E_l,f of the local epochs, or shared by all clusters.
Interpretations: head-only rounds are t < T_c as in the algorithm (one sentence says t <= T_c, one
more). The first E_l,f of the local epochs train the encoder, or the last (`encoder_last`). The
shared encoder is the average of all clients' by numbers of images. It is sent once with N heads,
which is cheaper than the paper's (N + 1) S T. Clients return whole models in head-only rounds too,
as Eq. 15 counts them. Without pre-training all start from one random encoder (`common_encoder`).
Evidence: `tests/methods/test_clustered.py`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...nn.classifier import ENCODER, HEAD
from ...state import State, n_models, part, repeat, take, weighted_average
from ..base import Message, Round, Server
from ._clustered import Clustered, select


@dataclass(frozen=True)
class CPCFL(Clustered):
    """Options of every clustered method, and: `head_rounds`: T_c, rounds of random choice that
    train heads only. `encoder_epochs`: E_l,f, local epochs that train the encoder; None for all.
    `encoder_last`: whether these are the last ones. `shared_encoder`: one for all clusters."""

    common_encoder: bool = True
    head_rounds: int = 10
    encoder_epochs: int | None = None
    encoder_last: bool = False
    shared_encoder: bool = False

    def choose(self, now: Round, pool: State) -> Tensor:
        if now.t >= self.head_rounds:
            return select(now.task, pool, now.clients)
        n_clients = now.task.federation.n_clients
        drawn = torch.randint(self.n_clusters, (n_clients,), generator=now.stream("choice"))
        return drawn[now.clients]

    def encoder_epochs_in(self, t: int) -> int | range | None:
        if t < self.head_rounds:
            return 0
        if self.encoder_epochs is None or not self.encoder_last:
            return self.encoder_epochs
        return range(max(0, self.local_epochs - self.encoder_epochs), self.local_epochs)

    def broadcast(self, now: Round, server: Server) -> Message:
        if not self.shared_encoder:
            return super().broadcast(now, server)
        encoder = take(part(server.pool, ENCODER), [0])
        return Message(shared={"encoder": encoder, "heads": part(server.pool, HEAD)})

    def received(self, download: Message) -> State:
        if not self.shared_encoder:
            return super().received(download)
        heads = download.shared["heads"]
        return {**repeat(download.shared["encoder"], n_models(heads)), **heads}

    def merge(self, pool: State, trained: State, choice: Tensor, sizes: Tensor) -> State:
        if not self.shared_encoder:
            return super().merge(pool, trained, choice, sizes)
        heads = super().merge(part(pool, HEAD), part(trained, HEAD), choice, sizes)
        encoder = weighted_average(part(trained, ENCODER), sizes.unsqueeze(0))
        return {**repeat(encoder, self.n_clusters), **heads}

    def encoder(self, server: Server) -> State | None:
        return take(part(server.pool, ENCODER), [0]) if self.shared_encoder else None
