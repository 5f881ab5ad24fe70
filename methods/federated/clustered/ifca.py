"""IFCA: every client trains the model of the pool that fits its data best.

Paper: Ghosh et al. 2020 (model averaging, all weights per cluster); as CP-CFL's baseline, Section
4.2. The N models have random weights, or random heads on one encoder taken from FedAvg. If
clustering fails, training starts again with other random weights.
Unstated: clustering has failed as soon as all clients' last choices are one model, in whatever
round, since a model that nobody trains hardly ever becomes the best again. With `restart_at_end`
this is checked once, after the last round. If the last of `max_restarts` new starts fails too, it
is trained to the end and `clustering_failed` is recorded.
Evidence: `tests/methods/test_clustered.py` (recovers known clusters; restarts).
"""

from dataclasses import dataclass

from torch import Tensor

from ...later import later
from ...state import State
from ..base import Round, Server
from ._clustered import Clustered, select


@dataclass(frozen=True)
class IFCA(Clustered):
    """Options of every clustered method, and: `max_restarts`: new starts after clustering failure.
    `restart_at_end`: whether it is checked after the last round alone. `known_groups`: whether
    clients train the model of their group in the partition, a positive control. `ValueError` if
    there are more groups than models."""

    max_restarts: int = 10
    restart_at_end: bool = False
    known_groups: bool = later(False)

    def choose(self, now: Round, pool: State) -> Tensor:
        if not self.known_groups:
            return select(now.task, pool, now.clients)
        group = now.task.federation.group
        if group.max() >= self.n_clusters:
            raise ValueError(f"{int(group.max()) + 1} groups of clients, {self.n_clusters} models")
        return group[now.clients]

    def failed(self, now: Round, server: Server, attempt: int) -> bool:
        looked_at = not self.restart_at_end or now.t + 1 == self.rounds
        return looked_at and attempt < self.max_restarts and bool(server.collapsed)
