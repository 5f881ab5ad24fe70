"""CP-CFL: clustered training that starts from one pre-trained encoder and random heads.

Paper: CP-CFL, Algorithm 2. Rounds t < T_c: each client takes a random model and trains its head
only. From t = T_c: it takes the model of lowest loss (Eq. 5) and trains all of it. Section 4.5:
the encoder trained in E_l,f of the local epochs, or shared by all clusters.

Readings: head-only rounds are t < T_c as in the algorithm (one sentence says t <= T_c). The first
E_l,f of the local epochs train the encoder. The shared encoder is the average of all clients' by
numbers of images; it is sent once with N heads, which is cheaper than the paper's (N + 1) S T.
Clients return whole models in head-only rounds too, as Eq. 15 counts them. Without pre-training all
models start from one random encoder.
Evidence: `tests/methods/test_cpcfl.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedrepro.methods.federated.base import Message, Server, Task
from fedrepro.methods.federated.clustered._clustered import Clustered, select
from fedrepro.methods.nn.classifier import ENCODER, HEAD
from fedrepro.methods.state import State, n_models, part, repeat, take, weighted_average


@dataclass(frozen=True)
class CPCFL(Clustered):
    """Options of every clustered method, and:

    head_rounds: T_c, rounds of random choice that train heads only. encoder_epochs: E_l,f, local
    epochs that train the encoder; None for all. shared_encoder: one encoder for all clusters.
    """

    head_rounds: int = 10
    encoder_epochs: int | None = None
    shared_encoder: bool = False

    def start(self, task: Task, attempt: int) -> Server:
        drawn = super().start(task, attempt)
        encoder = part(take(drawn.pool, [0]), ENCODER)
        return replace(drawn, pool={**drawn.pool, **repeat(encoder, self.n_clusters)})

    def choose(self, task: Task, pool: State, t: int, clients: Tensor) -> Tensor:
        if t >= self.head_rounds:
            return select(task, pool, clients)
        stream = task.seeds.generator("choice", t)
        everyone = torch.randint(self.n_clusters, (task.federation.n_clients,), generator=stream)
        return everyone[clients]

    def encoder_epochs_in(self, t: int) -> int | None:
        return 0 if t < self.head_rounds else self.encoder_epochs

    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        if not self.shared_encoder:
            return super().broadcast(task, server, t, clients)
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
