from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.self_supervised.fedca import (
    DICTIONARY,
    FedCA,
    alignment,
    nt_xent_with_dictionary,
)
from fedrepro.methods.federated.self_supervised.fedsimclr import FedSimCLR
from fedrepro.methods.objectives._memory import unit
from fedrepro.methods.objectives.simclr import SimCLR, nt_xent
from fedrepro.methods.state import part
from fedrepro.methods.training.pretraining import encode
from tests.methods.conftest import MakeTask

NETWORK: dict[str, Any] = {"projector_widths": (6, 4), "temperature": 0.3}
OPTIONS: dict[str, Any] = {"local_epochs": 1, "batch_size": 4, "learning_rate": 0.01}
METHOD = FedCA(rounds=3, queue_size=6, **OPTIONS, **NETWORK)
PUBLIC = torch.randint(256, (15, 1, 6, 6), dtype=torch.uint8)


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
    losses = nt_xent_with_dictionary(z_i, z_j, dictionary, 0.3)
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
    found = nt_xent_with_dictionary(z_i, z_j, torch.zeros(0, 4), 0.5)
    torch.testing.assert_close(found, nt_xent(z_i, z_j, 0.5))


def test_alignment_is_the_mean_squared_distance() -> None:
    h, target = torch.randn(2, 3, 5, dtype=torch.float64), torch.randn(2, 3, 5, dtype=torch.float64)
    for model in range(2):
        pairs = zip(h[model], target[model], strict=True)
        expected = sum(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x, y in pairs) / 3
        assert alignment(h, target)[model].item() == pytest.approx(float(expected), abs=1e-12)


def test_alignment_pulls_to_the_pre_trained_encoder_on_public_images(make_task: MakeTask) -> None:
    task = with_base(make_task((20, 20)))
    method = replace(METHOD, rounds=40, local_epochs=2, alignment_weight=30.0)
    assert task.encoder is not None
    target = encode(task.model.encoder, task.encoder, PUBLIC)

    def distance(weights: float) -> float:
        trained = loop.run(replace(method, alignment_weight=weights), task).encoder
        assert trained is not None
        return float((encode(task.model.encoder, trained, PUBLIC) - target).square().sum(1).mean())

    assert distance(30.0) < 0.3 * distance(0.0)


def test_the_dictionary_holds_everybodys_features_of_the_last_round(make_task: MakeTask) -> None:
    task, clients = with_base(make_task((8, 4, 8))), torch.arange(3)
    memory = METHOD.new_memory(task)
    server = METHOD.start(task, 0)
    first = METHOD.broadcast(Round(task, 0, clients), server)
    assert set(first.shared) == {"weights"}
    upload = METHOD.local_update(Round(task, 0, clients), first, memory)
    assert upload.per_client["features"]["count"].tolist() == [6, 4, 6]
    server = METHOD.aggregate(Round(task, 0, clients), server, upload)
    shared = METHOD.broadcast(Round(task, 1, clients), server).shared
    assert torch.equal(shared["features"][DICTIONARY], upload.per_client["features"]["features"])


def test_uploaded_features_are_those_of_a_clients_own_images(make_task: MakeTask) -> None:
    task = with_base(make_task((8, 8)))
    method = replace(METHOD, batch_size=8)
    clients, server = torch.arange(2), method.start(task, 0)
    upload = method.local_update(
        Round(task, 0, clients),
        method.broadcast(Round(task, 0, clients), server),
        method.new_memory(task),
    )
    learner = method.learner(task)
    for client in range(2):
        state = {name: v[client : client + 1] for name, v in upload.per_client["weights"].items()}
        stream = task.seeds.generator("uploads", 0, client)
        chosen = task.federation.train_of[client][torch.randperm(8, generator=stream)[:6]]
        h = encode(task.model.encoder, state, task.federation.train.images[chosen])
        expected = unit(learner.projector(state, h[None]))[0]
        found = upload.per_client["features"]["features"][6 * client : 6 * client + 6]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_without_alignment_the_first_round_is_fedsimclrs(make_task: MakeTask) -> None:
    task = with_base(make_task((8, 8)))
    # Adam would blow up the rounding of gradients that are nearly zero.
    options = {**OPTIONS, "rounds": 1, "learning_rate": 0.1, "optimizer": "sgd"}
    ours = loop.run(FedCA(**options, **NETWORK, alignment_weight=0.0), task).encoder
    plain = FedSimCLR(**options)
    theirs = loop.run(plain, replace(task, encoder=None)).encoder
    assert ours is not None
    assert theirs is not None
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, rtol=1e-4, atol=1e-5, msg=name)


def test_a_run_without_a_pre_trained_encoder_is_refused(make_task: MakeTask) -> None:
    task = replace(with_base(make_task()), encoder=None, source=None)
    with pytest.raises(ValueError, match="aligns to a pre-trained encoder, and there is none"):
        METHOD.start(task, 0)
