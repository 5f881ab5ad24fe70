"""Orchestra's loss by plain loops, and what travels."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.self_supervised.orchestra import FederatedOrchestra
from fedrepro.methods.objectives._memory import unit
from fedrepro.methods.objectives.orchestra import CENTROIDS, QUEUE, Orchestra, cluster_loss, turned
from fedrepro.methods.state import n_bytes
from tests.methods.conftest import MakeTask

OPTIONS = Orchestra(n_global_clusters=6, projector_width=4, memory_size=8)
METHOD = FederatedOrchestra(
    rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01, n_local_clusters=3
)


def prepared(task: Task) -> Task:
    plain = Augmentation((0.5, 1.0), jitter_probability=0, grey_probability=0)
    return replace(task, objective=OPTIONS, augmentation=plain)


def test_assignments_agree_by_cross_entropy() -> None:
    online, target = unit(torch.randn(1, 3, 4)), unit(torch.randn(1, 3, 4))
    centroids = unit(torch.randn(1, 5, 4))
    total = 0.0
    for i in range(3):
        p, q = (
            [math.exp(float(z[0, i] @ c) / 0.1) for c in centroids[0]] for z in (target, online)
        )
        total -= sum(a / sum(p) * math.log(b / sum(q)) for a, b in zip(p, q, strict=True)) / 3
    assert cluster_loss(online, target, centroids, 0.1).tolist() == pytest.approx([total], rel=1e-4)


def test_images_are_turned_by_their_place() -> None:
    x = torch.randn(2, 6, 1, 4, 4)
    found, turns = turned(x)
    for i in range(6):
        assert torch.equal(found[1, i, 0], x[1, i, 0].rot90(i % 4))
        assert int(turns[1, i]) == i % 4


def test_target_follows_slowly_and_its_projections_are_queued(make_task: MakeTask) -> None:
    task = make_task()
    learner = OPTIONS.build(task.model.encoder, task.model.dim, 3)
    state = learner.new(torch.Generator().manual_seed(0))
    memory = learner.memory(state)
    views = [torch.rand(1, 5, 1, 6, 6) for _ in range(2)]
    learner.loss(state, memory, views, None)
    assert memory[f"{QUEUE}.filled"].tolist() == [5]
    target = {k: v.clone() for k, v in memory.items()}
    moved = {k: v + 1 for k, v in state.items()}
    learner.update(moved, memory)
    name = "projector.0.weight"
    torch.testing.assert_close(memory[name], 0.996 * target[name] + 0.004 * moved[name])
    assert torch.equal(memory[CENTROIDS], target[CENTROIDS])


def test_only_centroids_travel_beside_the_weights(make_task: MakeTask) -> None:
    task = prepared(make_task(sizes=(10, 7, 9)))
    outcome = run(METHOD, task)
    weights = n_bytes(METHOD.start(task, 0).weights)
    assert outcome.counts["uploaded_bytes"] == 2 * 3 * (weights + 3 * 4 * 4)
    assert outcome.counts["downloaded_bytes"] == 2 * 3 * (weights + 6 * 4 * 4)
    assert bool(torch.isfinite(torch.tensor(outcome.arrays["loss"])).all())


def test_global_centroids_come_from_the_clients(make_task: MakeTask) -> None:
    task, clients = prepared(make_task()), torch.arange(3)
    server = METHOD.start(task, 0)
    up = METHOD.local_update(
        Round(task, 0, clients),
        METHOD.broadcast(Round(task, 0, clients), server),
        METHOD.new_memory(task),
    )
    after = METHOD.aggregate(Round(task, 0, clients), server, up)
    assert after.centroids.shape == (1, 6, 4)
    torch.testing.assert_close(after.centroids.norm(dim=2), torch.ones(1, 6))
    assert not torch.allclose(after.centroids, server.centroids)
