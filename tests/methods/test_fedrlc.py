"""FedRLC's centres, FedPNP's past models, and that the paper's methods train."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import CENTRES
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.reference.centralized_byol import CentralizedBYOL
from fedrepro.methods.federated.self_supervised._initial_centres import with_initial_centres
from fedrepro.methods.federated.self_supervised.fedema import FedEMA
from fedrepro.methods.federated.self_supervised.fedpnp import FedPNP
from fedrepro.methods.federated.self_supervised.fedrlc import FedRLC, merged_centres
from fedrepro.methods.objectives._soft_clusters import divergence, student_t
from fedrepro.methods.objectives.crossed_kl import CrossedKL, CrossedKLLearner
from fedrepro.methods.objectives.past_negatives import KNOWN
from fedrepro.methods.registry import find
from fedrepro.methods.state import State, take
from tests.methods.conftest import MakeTask

TWO = torch.tensor([0, 1])
OPTIONS: dict[str, Any] = {
    "rounds": 2,
    "local_epochs": 1,
    "batch_size": 5,
    "learning_rate": 0.05,
    "optimizer": "sgd",
}
NETWORKS: dict[str, Any] = {
    "projector_widths": (6, 4),
    "predictor_width": 5,
    "negative_threshold": 0.9,
}


def task_of(task: Task, method: Any) -> Task:
    cls = find("objective", method.objective_name())
    own = {name: value for name, value in NETWORKS.items() if name in cls.__dataclass_fields__}
    augmentation = Augmentation(crop_scale=(0.5, 1.0))
    return replace(task, objective=cls(**own), augmentation=augmentation)


def test_centres_keep_more_of_their_own_the_more_labels_diverge() -> None:
    own, received = torch.tensor([[[4.0]], [[4.0]], [[4.0]]]), torch.zeros(3, 1, 1)
    found = merged_centres(own, received, torch.tensor([0.0, 1.0, 3.0]))
    assert found.flatten().tolist() == [0.0, 2.0, 3.0]


def rlc(make_task: MakeTask) -> tuple[FedRLC, Task, CrossedKLLearner]:
    method = FedRLC(**OPTIONS)
    task = task_of(make_task((10, 7)), method)
    learner = method.learner(task)
    assert isinstance(learner, CrossedKLLearner)
    return method, task, learner


def test_label_divergence_is_that_of_the_mean_of_two_views(make_task: MakeTask) -> None:
    method, task, learner = rlc(make_task)
    received, own = (learner.new(torch.Generator().manual_seed(k)) for k in (0, 1))
    now = Round(task, 3, torch.tensor([1]))
    found = method.label_divergence(now, received, own)
    stream = task.seeds.generator("centre views", 3, 1)
    images = task.federation.train.images[task.federation.train_of[1]]
    assert task.augmentation is not None
    views = task.augmentation.stacked_views(images[None], 2, [stream])

    def labels(model: State) -> Tensor:
        z = sum(learner.embed(model, x, training=False) for x in views) / 2
        return student_t(z, model[CENTRES])[0]

    q_global, q_own = labels(received), labels(own)
    expected = sum(float((q_global[i] * (q_global[i] / q_own[i]).log()).sum()) for i in range(7))
    assert float(found) == pytest.approx(expected / 7, rel=1e-4)
    assert float(method.label_divergence(now, own, own)) == pytest.approx(0, abs=1e-6)


def test_fedrlc_merges_networks_as_fedema_and_centres_by_divergence(make_task: MakeTask) -> None:
    method, task, learner = rlc(make_task)
    received, own = (
        {k: v.repeat(2, *[1] * (v.dim() - 1)) for k, v in learner.new(g).items()}
        for g in (torch.Generator().manual_seed(0), torch.Generator().manual_seed(1))
    )
    now = Round(task, 1, TWO)
    found = method.merge(now, received, own, method.new_memory(task))
    as_ema = FedEMA().merge(now, received, own, method.new_memory(task))
    for name in found:
        if name != CENTRES:
            torch.testing.assert_close(found[name], as_ema[name])
    for k in range(2):
        epsilon = method.label_divergence(now.of(TWO[[k]]), take(received, [k]), take(own, [k]))
        share = float(epsilon / (1 + epsilon))
        expected = share * own[CENTRES][k] + (1 - share) * received[CENTRES][k]
        torch.testing.assert_close(found[CENTRES][k], expected)
        assert 0 < share < 1


def test_without_a_clustering_loss_fedrlc_is_fedema(make_task: MakeTask) -> None:
    method, plain = FedRLC(**OPTIONS), FedEMA(**OPTIONS)
    task = make_task((10, 7))
    bare = CrossedKL(projector_widths=(6, 4), predictor_width=5, clustering_loss=False)
    augmentation = Augmentation(crop_scale=(0.5, 1.0))
    ours = loop.run(method, replace(task, objective=bare, augmentation=augmentation)).encoder
    theirs = loop.run(plain, task_of(task, plain)).encoder
    assert ours is not None
    assert theirs is not None
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert torch.equal(ours[name], value)


def test_centres_begin_among_the_embedded_images(make_task: MakeTask) -> None:
    _, task, learner = rlc(make_task)
    fresh = learner.new(task.seeds.generator("weights", "model", 0, 0))
    state = with_initial_centres(task, learner, fresh)
    assert state[CENTRES].shape == fresh[CENTRES].shape
    assert all(torch.equal(state[name], fresh[name]) for name in fresh if name != CENTRES)
    images = task.federation.train.images[:10].float()[None] / 255
    z = learner.embed({k: v.clone() for k, v in fresh.items()}, images, training=True)[0]
    far = float((fresh[CENTRES][0].unsqueeze(1) - z).norm(dim=2).amin(1).mean())
    near = float((state[CENTRES][0].unsqueeze(1) - z).norm(dim=2).amin(1).mean())
    assert near < far
    q = student_t(z[None], state[CENTRES])
    assert len(set(q[0].argmax(1).tolist())) > 1
    assert float(divergence(q, q).sum()) == pytest.approx(0, abs=1e-6)


def test_fedpnp_labels_by_what_the_client_had_after_its_last_round(make_task: MakeTask) -> None:
    method = FedPNP(**OPTIONS)
    task = task_of(make_task((10, 7)), method)
    memory = method.new_memory(task)
    server = method.start(task, 0)
    only = torch.tensor([1])
    upload = method.local_update(
        Round(task, 0, only), method.broadcast(Round(task, 0, only), server), memory
    )
    assert memory.objective.state[KNOWN].tolist() == [False, True]
    kept = memory.objective.state["past.cluster_head.0.weight"][1]
    assert torch.equal(kept, upload.per_client["weights"]["cluster_head.0.weight"][0])
    assert not torch.equal(kept, server["cluster_head.0.weight"][0])


def test_centralised_training_pools_all_images(make_task: MakeTask) -> None:
    pooled = CentralizedBYOL().prepare(make_task((10, 7, 5)).federation)
    assert pooled.n_clients == 1
    assert sorted(pooled.train_of[0].tolist()) == list(range(22))
