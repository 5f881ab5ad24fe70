"""Where trained cluster centres begin: K-means over K-means.

Before the first round every client sends the K-means centres of the initial networks' outputs on
its images. The server clusters those (one-shot federated K-means, Dennis et al. 2021), since a mean
of the clients' centres would pair unlike clusters. DEC begins with K-means too (Xie et al. 2016).
Unstated: batch normalisation uses statistics of batches, since the initial networks have no others
yet; every client's centre counts once. This one exchange is not counted in bytes.
Evidence: `tests/methods/test_fedema.py`.
"""

import torch
from torch import Tensor

from ...clusters.kmeans import best_kmeans
from ...clusters.soft_assignment import CENTRES
from ...data.federation import to_float
from ...objectives._soft_clusters import CentredLearner
from ...objectives.base import Learner
from ...state import State, clone
from ..base import Task

_BATCH = 500
_RESTARTS = 3


@torch.no_grad()
def with_initial_centres(task: Task, learner: Learner, state: State) -> State:
    """`state` (one model) with centres set by K-means; as it is where the learner has none."""
    if not isinstance(learner, CentredLearner):
        return state
    found = []
    for client in range(task.federation.n_training):
        z = _embedded(task, learner, state, client)
        k = min(learner.n_clusters, len(z))
        stream = task.seeds.generator("centres", client)
        found.append(best_kmeans(z[None], k, [stream], _RESTARTS)[0][0])
    stream = task.seeds.generator("centres", "server")
    everything = torch.cat(found)[None]
    return {**state, CENTRES: best_kmeans(everything, learner.n_clusters, [stream], _RESTARTS)[0]}


def _embedded(task: Task, learner: CentredLearner, state: State, client: int) -> Tensor:
    """A client's images in the space of the centres, images x width."""
    images = task.federation.train.images[task.federation.train_of[client]]
    # Running statistics would move: the initial model must stay what it is.
    networks = clone(state)
    parts = [
        learner.embed(networks, to_float(batch)[None], training=True)[0]
        for batch in torch.split(images, _BATCH)
    ]
    return torch.cat(parts)
