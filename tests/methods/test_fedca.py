import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.clusters.kmeans import kmeans
from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.self_supervised import fedca
from fedrepro.methods.federated.self_supervised._features import batchwise
from fedrepro.methods.federated.self_supervised.feddc import CENTROIDS, FedDC
from fedrepro.methods.federated.self_supervised.fedsimclr import FedSimCLR
from fedrepro.methods.nn.layers import BatchNorm
from fedrepro.methods.objectives._memory import unit
from fedrepro.methods.objectives.simclr import SimCLR, nt_xent
from fedrepro.methods.state import State, clone, part, take
from fedrepro.methods.training.pretraining import encode
from tests.methods.conftest import make_task, one_round

NETWORK: dict[str, Any] = {"projector_widths": (6, 4), "temperature": 0.3}
OPTIONS: dict[str, Any] = {"local_epochs": 1, "batch_size": 4, "learning_rate": 0.01}
METHOD = fedca.FedCA(rounds=3, queue_size=6, **OPTIONS, **NETWORK)
PUBLIC = torch.randint(
    256, (15, 1, 6, 6), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
)


def with_base(task: Task) -> Task:
    base = part(task.model.new(torch.Generator().manual_seed(9)), "encoder")
    return replace(
        task,
        objective=SimCLR(**NETWORK),
        augmentation=Augmentation(crop_scale=(0.5, 1.0)),
        encoder=base,
        source=lambda: ImageSet(PUBLIC),
    )


def test_the_contrast_equals_a_plain_loop() -> None:
    z_i, z_j = (unit(torch.randn(2, 5, 4, dtype=torch.float64)) for _ in range(2))
    dictionary = unit(torch.randn(7, 4, dtype=torch.float64))
    losses = fedca.nt_xent_with_dictionary(z_i, z_j, dictionary, 0.3)
    for model in range(2):
        z = [*z_i[model], *z_j[model]]
        total = 0.0
        for a in range(10):
            others = [z[b] for b in range(10) if b != a] + list(dictionary)
            below = sum(math.exp(float(z[a] @ other) / 0.3) for other in others)
            total -= math.log(math.exp(float(z[a] @ z[(a + 5) % 10]) / 0.3) / below)
        assert losses[model].item() == pytest.approx(total / 10, abs=1e-12)


def test_without_a_dictionary_the_contrast_is_simclrs() -> None:
    z_i, z_j = (unit(torch.randn(2, 5, 4)) for _ in range(2))
    found = fedca.nt_xent_with_dictionary(z_i, z_j, torch.zeros(0, 4), 0.5)
    torch.testing.assert_close(found, nt_xent(z_i, z_j, 0.5))


def test_alignment_is_the_mean_squared_distance() -> None:
    h, target = torch.randn(2, 3, 5, dtype=torch.float64), torch.randn(2, 3, 5, dtype=torch.float64)
    for model in range(2):
        pairs = zip(h[model], target[model], strict=True)
        expected = sum(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x, y in pairs) / 3
        assert fedca.alignment(h, target)[model].item() == pytest.approx(float(expected), abs=1e-12)


def test_alignment_pulls_to_the_pre_trained_encoder_on_public_images() -> None:
    task = with_base(make_task((20, 20)))
    method = replace(METHOD, rounds=8, local_epochs=2)
    target = encode(task.model.encoder, task.encoder, PUBLIC)

    def distance(weights: float) -> float:
        trained = loop.run(replace(method, alignment_weight=weights), task).encoder
        return float((encode(task.model.encoder, trained, PUBLIC) - target).square().sum(1).mean())

    assert distance(30.0) < 0.3 * distance(0.0)


def test_the_dictionary_holds_everybodys_features_of_the_last_round() -> None:
    task, clients = with_base(make_task((8, 4, 8))), torch.arange(3)
    server, memory = METHOD.start(task, 0), METHOD.new_memory(task)
    first, upload, server = one_round(METHOD, Round(task, 0, clients), server, memory)
    assert set(first.shared) == {"weights"}
    assert upload.per_client["features"]["count"].tolist() == [6, 4, 6]
    shared = METHOD.broadcast(Round(task, 1, clients), server).shared
    assert torch.equal(
        shared["features"][fedca.DICTIONARY], upload.per_client["features"]["features"]
    )


def test_uploaded_features_are_those_of_a_clients_own_images() -> None:
    task = with_base(make_task((8, 8)))
    method = replace(METHOD, batch_size=8)
    clients, server = torch.arange(2), method.start(task, 0)
    _, upload, _ = one_round(method, Round(task, 0, clients), server)
    learner = method.learner(task)
    for client in range(2):
        state = {name: v[client : client + 1] for name, v in upload.per_client["weights"].items()}
        stream = task.seeds.generator("uploads", 0, client)
        chosen = task.federation.train_of[client][torch.randperm(8, generator=stream)[:6]]
        h = encode(task.model.encoder, state, task.federation.train.images[chosen])
        expected = unit(learner.projector(state, h[None]))[0]
        found = upload.per_client["features"]["features"][6 * client : 6 * client + 6]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_without_alignment_the_first_round_is_fedsimclrs() -> None:
    task = with_base(make_task((8, 8)))
    # Adam would blow up the rounding of gradients that are nearly zero.
    options = {**OPTIONS, "rounds": 1, "learning_rate": 0.1, "optimizer": "sgd"}
    ours = loop.run(fedca.FedCA(**options, **NETWORK, alignment_weight=0.0), task).encoder
    plain = FedSimCLR(**options)
    theirs = loop.run(plain, replace(task, encoder=None)).encoder
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_run_without_a_pre_trained_encoder_is_refused() -> None:
    task = replace(with_base(make_task()), encoder=None, source=None)
    with pytest.raises(ValueError, match="aligns to a pre-trained encoder, and there is none"):
        METHOD.start(task, 0)


FEDDC: dict[str, Any] = {"projector_widths": (6, 4), "prototypes": 3}
FEDDC_METHOD = FedDC(rounds=2, local_epochs=2, batch_size=4, **FEDDC)


def with_views(task: Task) -> Task:
    return replace(task, augmentation=Augmentation(crop_scale=(0.5, 1.0)))


def test_the_loss_equals_a_plain_loop_over_the_cross_entropy() -> None:
    task = make_task()
    learner = FedDC(temperature=0.3, **FEDDC, normalised_layers=0).learner(task)
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


def test_every_epoch_clusters_each_clients_own_images() -> None:
    task = with_views(make_task((12, 12)))
    learner = FEDDC_METHOD.learner(task)
    one = FEDDC_METHOD.start(task, 0)
    state = take(one, [0, 0])
    clients = torch.arange(2)
    work = FEDDC_METHOD.local_loss(Round(task, 5, clients))
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


def test_batchwise_features_use_batch_statistics_and_leave_the_running_ones() -> None:
    norm = BatchNorm("n", 2)
    state = norm.new(torch.Generator())
    before = clone(state)
    x = torch.randn(1, 10, 2)

    def project(weights: State, piece: Tensor) -> Tensor:
        return norm(weights, piece, training=True)

    found = batchwise(project, state, x, batch_size=5)
    for half in (slice(0, 5), slice(5, 10)):
        piece = x[0, half]
        expected = (piece - piece.mean(0)) / (piece.var(0, correction=0) + 1e-5).sqrt()
        torch.testing.assert_close(found[0, half], expected)
    torch.testing.assert_close(state, before, rtol=0, atol=0)


def test_no_batch_is_left_with_a_single_image() -> None:
    sizes: list[int] = []

    def project(weights: State, piece: Tensor) -> Tensor:
        sizes.append(piece.shape[1])
        return piece

    batchwise(project, {}, torch.zeros(1, 9, 2), batch_size=4)
    assert sizes == [5, 4]
