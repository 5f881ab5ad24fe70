"""FedPAC's stages, centroids and combined classifiers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import Round
from fedrepro.methods.federated.personalized.fedpac import Aligned, FedPAC
from fedrepro.methods.state import part
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import MakeTask

METHOD = FedPAC(rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01)


def test_first_the_classifier_learns_and_then_the_encoder(make_task: MakeTask) -> None:
    task, clients = make_task(), torch.arange(3)
    server = METHOD.start(task, 0)
    down = METHOD.broadcast(Round(task, 0, clients), server)
    heads_only = replace(METHOD, local_epochs=0).local_update(Round(task, 0, clients), down, {})
    for name, value in heads_only.per_client["encoder"].items():
        assert torch.equal(value, server.encoder[name].expand_as(value))
    assert not torch.equal(
        heads_only.per_client["classifier"]["head.0.weight"],
        down.per_client["classifier"]["head.0.weight"],
    )
    both = METHOD.local_update(Round(task, 0, clients), down, METHOD.new_memory(task))
    for name, value in both.per_client["classifier"].items():
        assert torch.equal(value, heads_only.per_client["classifier"][name])


def test_alignment_is_the_mean_squared_distance_to_the_centroid(make_task: MakeTask) -> None:
    task = make_task()
    state, centroids = task.new_model("m"), torch.randn(3, 5)
    at = torch.arange(4).view(1, 4)
    found = [
        Aligned(task, 1, centroids, weight).loss(state, {}, Batch((0,), at, at, 1))
        for weight in (0.0, 2.0)
    ]
    train = task.federation.train
    assert train.labels is not None
    h = task.model.features(state, to_float(train.images[:4])[None])[0]
    expected = 2 * F.mse_loss(h, centroids[train.labels[:4]])
    torch.testing.assert_close((found[1] - found[0])[0], expected)
    early = Aligned(task, 1, centroids, 2.0).loss(state, {}, Batch((0,), at, at, 0))
    torch.testing.assert_close(early, found[0])


def test_global_centroids_are_means_over_all_images_of_a_class(make_task: MakeTask) -> None:
    task, clients = make_task(sizes=(4, 9, 7)), torch.arange(3)
    server = METHOD.start(task, 0)
    up = METHOD.local_update(
        Round(task, 0, clients),
        METHOD.broadcast(Round(task, 0, clients), server),
        METHOD.new_memory(task),
    )
    after = METHOD.aggregate(Round(task, 0, clients), server, up)
    train = task.federation.train
    assert train.labels is not None
    rows = []
    for client in range(3):
        own = task.federation.train_of[client]
        weights = {k: v[client : client + 1] for k, v in up.per_client["encoder"].items()}
        rows.append(task.model.features(weights, to_float(train.images[own])[None])[0])
    h = torch.cat(rows)
    for c in range(3):
        torch.testing.assert_close(after.centroids[c], h[train.labels == c].mean(0))


def test_every_client_gets_a_mixture_of_all_classifiers(make_task: MakeTask) -> None:
    task, clients = make_task(), torch.arange(3)
    server = METHOD.start(task, 0)
    up = METHOD.local_update(
        Round(task, 0, clients),
        METHOD.broadcast(Round(task, 0, clients), server),
        METHOD.new_memory(task),
    )
    after = METHOD.aggregate(Round(task, 0, clients), server, up)
    sent = up.per_client["classifier"]["head.0.weight"]
    low, high = sent.min(0).values, sent.max(0).values
    assert bool((after.heads["head.0.weight"] >= low - 1e-6).all())
    assert bool((after.heads["head.0.weight"] <= high + 1e-6).all())
    assert set(after.heads) == set(part(task.new_model("m"), "head"))


def test_the_global_model_has_the_classifiers_averaged_by_size(make_task: MakeTask) -> None:
    task = make_task(sizes=(4, 9, 7))
    server = METHOD.start(task, 0)
    heads = {name: torch.randn_like(value) for name, value in server.heads.items()}
    pool, choice = METHOD.personal_models(task, replace(server, heads=heads), {})
    assert choice.tolist() == [0, 0, 0]
    for name, value in heads.items():
        expected = np.average(value.numpy(), axis=0, weights=[4, 9, 7])
        np.testing.assert_allclose(pool[name][0].numpy(), expected, rtol=1e-5, atol=1e-6)
    assert all(torch.equal(pool[name], value) for name, value in server.encoder.items())
