"""Orchestra: clients cluster what they see, the server clusters their centroids for everybody.

Paper: Lubana et al. 2022, Algorithm 1: local training on `methods.objectives.orchestra`, then local
clustering of recent projections into L equally large clusters, of which only centroids are sent;
the server averages networks and clusters all local centroids into G global ones
(`methods.clusters.balanced_clustering`). As MFCL's baseline, Table 2.
Departures: the global centroids move by equal-size clustering from the last round's, where the code
of Lubana et al. descends on a loss; the target network starts each round as the received one.
Unstated in MFCL: L, G, memory and temperatures (16, 128, 128, 0.1, defaults of Lubana et al.'s
code, as far as a client's images allow).
Evidence: `tests/methods/test_orchestra.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...clusters.balanced_clustering import balanced_centroids
from ...objectives.orchestra import CENTROIDS, QUEUE
from ...state import State, repeat
from ..base import Memory, Message, Server, Task
from ._self_supervised import SelfSupervised


@dataclass
class Conductor:
    """weights: one model. centroids: 1 x G x width, the global clusters."""

    weights: State
    centroids: Tensor


@dataclass(frozen=True)
class FederatedOrchestra(SelfSupervised):
    """n_local_clusters: L."""

    n_local_clusters: int = 16

    def objective_name(self) -> str:
        return "orchestra"

    def start(self, task: Task, attempt: int) -> Server:
        weights: State = super().start(task, attempt)
        return Conductor(weights, self.learner(task).memory(weights)[CENTROIDS])

    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        centroids = {CENTROIDS: server.centroids}
        return Message(shared={"weights": server.weights, "centroids": centroids})

    def local_update(
        self, task: Task, download: Message, t: int, clients: Tensor, memory: Memory
    ) -> Message:
        start = self.begin(task, download, t, clients, memory)
        client_state = self.learner(task).memory(start)
        client_state.update(repeat(download.shared["centroids"], len(clients)))
        loss = self.local_loss(task, t, clients)
        trained = self.train(task, loss, start, t, clients, client_state)
        filled = trained.client_state[f"{QUEUE}.filled"].tolist()
        centroids = [
            self._local(task, trained.client_state, position, int(filled[position]), t, client)
            for position, client in enumerate(clients.tolist())
        ]
        return Message(
            each={"weights": trained.state, "centroids": {CENTROIDS: torch.stack(centroids)}},
            log={"loss": trained.loss},
        )

    def _local(
        self, task: Task, client_state: State, position: int, filled: int, t: int, client: int
    ) -> Tensor:
        """Centroids L x width of a client's queued projections, `filled` of them; of none, what it
        received."""
        if filled == 0:
            return client_state[CENTROIDS][position, : self.n_local_clusters]
        z = client_state[f"{QUEUE}.features"][position, :filled]
        stream = task.seeds.generator("local clusters", t, client)
        return balanced_centroids(z, self.n_local_clusters, stream)

    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        local = upload.each["centroids"][CENTROIDS].flatten(0, 1)
        stream = task.seeds.generator("global clusters", t)
        start = None if t == 0 else server.centroids[0]
        centroids = balanced_centroids(local, server.centroids.shape[1], stream, start)
        weights = self.size_average(task, upload.each["weights"], clients)
        return Conductor(weights, centroids.unsqueeze(0))

    def encoder(self, server: Conductor) -> State:
        return server.weights
