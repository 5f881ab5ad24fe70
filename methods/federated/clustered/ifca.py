"""IFCA: every client trains the model of the pool that fits its data best.

Paper: Ghosh et al. 2020 (model averaging, all weights per cluster); as CP-CFL's baseline, Section
4.2: N models with random weights, or random heads on one encoder taken from FedAvg. If clustering
fails, training starts again with other random weights.

Unstated: clustering has failed as soon as all clients' last choices are one model, in whatever
round, since a model that nobody trains hardly ever becomes the best again. If the last of
`max_restarts` new starts fails too, it is trained to the end and `clustering_failed` is recorded.
Evidence: `tests/methods/test_ifca.py` (recovers known clusters; restarts).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedrepro.methods.federated.base import Server, Task
from fedrepro.methods.federated.clustered._clustered import Clustered, select
from fedrepro.methods.state import State


@dataclass(frozen=True)
class IFCA(Clustered):
    """max_restarts: new starts after clustering failure."""

    max_restarts: int = 10

    def choose(self, task: Task, pool: State, t: int, clients: Tensor) -> Tensor:
        return select(task, pool, clients)

    def failed(self, task: Task, server: Server, t: int, attempt: int) -> bool:
        return attempt < self.max_restarts and bool(server.collapsed)
