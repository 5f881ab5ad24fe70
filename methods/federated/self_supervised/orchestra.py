"""Orchestra: clients cluster what they see, the server clusters their centroids for everybody.

Paper: Lubana et al. 2022, Algorithm 1; as MFCL's baseline, Table 2. Clients train on
`methods.objectives.orchestra`. Then each clusters recent projections into L equally large clusters
and sends only their centroids. The server averages networks and clusters all local centroids into G
global ones (`methods.clusters.balanced_clustering`).
Deviations: the global centroids move by equal-size clustering from the last round's, where the code
of Lubana et al. descends on a loss. The target network starts each round as the received one.
Unstated in MFCL: L, G, memory, temperatures (their code's 16, 128, 128, 0.1 where images suffice).
Evidence: `tests/methods/test_orchestra.py`.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...clusters.balanced_clustering import balanced_centroids
from ...later import later
from ...objectives.orchestra import CENTROIDS, QUEUE
from ...state import State, repeat
from ..base import Memory, Message, Round, Server, Task
from ._self_supervised import SelfSupervised


@dataclass
class Conductor:
    """weights: one model. `centroids`: 1 x G x width, the global clusters."""

    weights: State
    centroids: Tensor


@dataclass(frozen=True)
class FederatedOrchestra(SelfSupervised):
    """n_local_clusters: L. `clusters_first`: whether clients only cluster in the first round, as in
    the code of Lubana et al., so that nobody trains towards random centroids."""

    n_local_clusters: int = 16
    clusters_first: bool = later(False)

    def objective_name(self) -> str:
        return "orchestra"

    def start(self, task: Task, attempt: int) -> Server:
        weights: State = super().start(task, attempt)
        return Conductor(weights, self.learner(task).memory(weights)[CENTROIDS])

    def broadcast(self, now: Round, server: Server) -> Message:
        centroids = {CENTROIDS: server.centroids}
        return Message(shared={"weights": server.weights, "centroids": centroids})

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        start = self.begin(now, download, memory)
        client_state = self.learner(now.task).memory(start)
        client_state.update(repeat(download.shared["centroids"], len(now)))
        only_clusters = self.clusters_first and now.t == 0
        options = self.local_options(now.t)
        if only_clusters:  # steps of length 0 fill the queue
            options = replace(options, epochs=1, learning_rate=0.0)
        trained = self.train(now, self.local_loss(now), start, client_state, options)
        filled = trained.client_state[f"{QUEUE}.filled"].tolist()
        centroids = [
            self._local(trained.client_state, position, int(filled[position]), stream)
            for position, stream in enumerate(now.streams("local clusters"))
        ]
        return Message(
            per_client={
                "weights": start if only_clusters else trained.state,
                "centroids": {CENTROIDS: torch.stack(centroids)},
            },
            log={"loss": trained.loss},
        )

    def _local(
        self, client_state: State, position: int, filled: int, stream: torch.Generator
    ) -> Tensor:
        """Centroids L x width of `filled` queued projections; of none, what the client received."""
        if filled == 0:
            return client_state[CENTROIDS][position, : self.n_local_clusters]
        z = client_state[f"{QUEUE}.features"][position, :filled]
        return balanced_centroids(z, self.n_local_clusters, stream)

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        local = upload.per_client["centroids"][CENTROIDS].flatten(0, 1)
        stream = now.stream("global clusters")
        start = None if now.t == 0 else server.centroids[0]
        centroids = balanced_centroids(local, server.centroids.shape[1], stream, start)
        weights = now.average(upload.per_client["weights"])
        return Conductor(weights, centroids.unsqueeze(0))

    def encoder(self, server: Conductor) -> State:
        return server.weights
