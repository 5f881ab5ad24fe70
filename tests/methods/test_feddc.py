from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from fedrepro.methods.clusters.kmeans import kmeans
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.self_supervised.feddc import ClusterLoss, FedDC
from fedrepro.methods.objectives._deepcluster import CENTROIDS, DeepCluster, DeepClusterLearner
from fedrepro.methods.state import take
from fedrepro.methods.training.pretraining import encode
from tests.methods.conftest import MakeTask

METHOD = FedDC(rounds=2, local_epochs=2, batch_size=4, projector_widths=(6, 4), prototypes=3)


def with_views(task: Task) -> Task:
    return replace(task, augmentation=Augmentation(crop_scale=(0.5, 1.0)))


def test_the_loss_equals_a_plain_loop_over_the_cross_entropy(make_task: MakeTask) -> None:
    task = make_task()
    learner = DeepCluster(0.3, (6, 4), 0, 3).build(task.model.encoder, 5, 3)
    assert isinstance(learner, DeepClusterLearner)
    state = learner.new(torch.Generator().manual_seed(0))
    memory = {CENTROIDS: F.normalize(torch.randn(1, 3, 4), dim=2)}
    views = [torch.rand(1, 5, 1, 6, 6) for _ in range(2)]
    clusters = torch.tensor([[0, 2, 1, 1, 0]])
    total = 0.0
    for view in views:
        for z, cluster in zip(learner.project(state, view)[0], clusters[0].tolist(), strict=True):
            logits = [float(z @ c) / 0.3 for c in memory[CENTROIDS][0]]
            total += math.log(sum(map(math.exp, logits))) - logits[cluster]
    found = learner.loss(state, memory, views, clusters)
    assert found.item() == pytest.approx(total / 10, abs=1e-5)


def test_every_epoch_clusters_each_clients_own_images(make_task: MakeTask) -> None:
    task = with_views(make_task((12, 12)))
    learner = METHOD.learner(task)
    one = METHOD.start(task, 0)
    state = take(one, [0, 0])
    clients = torch.arange(2)
    work = METHOD.local_loss(Round(task, 5, clients))
    assert isinstance(work, ClusterLoss)
    memory = learner.memory(state)
    own = torch.stack(task.federation.train_of)
    work.begin_epoch(state, memory, (0, 1), own, epoch=3)
    for client in range(2):
        h = encode(task.model.encoder, one, task.federation.train.images[own[client]])
        z = F.normalize(learner.projector(one, h[None]), dim=2)
        stream = task.seeds.generator("clusters", 5, 3, client)
        centroids, clusters = kmeans(z, 3, [stream], spherical=True)
        torch.testing.assert_close(memory[CENTROIDS][client], centroids[0])
        assert torch.equal(memory["clusters"][client], clusters[0])


def test_labels_have_no_part(make_task: MakeTask) -> None:
    task = with_views(make_task((10, 10)))
    labels = torch.zeros_like(task.federation.train.labels)  # type: ignore[arg-type]
    other = replace(task.federation, train=replace(task.federation.train, labels=labels))
    one, two = (loop.run(METHOD, t).encoder for t in (task, replace(task, federation=other)))
    assert one is not None
    assert two is not None
    for name, value in one.items():
        assert torch.equal(value, two[name])
