"""Supervised clients that augment, against clients whose images are changed beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from fedrepro.methods import registry
from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.federated.base import FederatedMethod, Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.personalized.lg_fedavg import LGFedAvg
from fedrepro.methods.federated.personalized.local_only import LocalOnly
from fedrepro.methods.federated.split.fsl import FSL
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.state import State, repeat
from tests.methods.conftest import MakeTask

MIRROR = Augmentation(
    crop_scale=(1.0, 1.0),
    flip_probability=1.0,
    jitter_probability=0.0,
    grey_probability=0.0,
    blur_probability=0.0,
)
OPTIONS = {"rounds": 2, "local_epochs": 2, "batch_size": 4, "learning_rate": 0.1}
WITH_LABELS = [
    name
    for name in registry.names("federated")
    if "augments" in {option.name for option in fields(registry.find("federated", name))}
]
# Their heads learn from images that a frozen encoder has encoded once, as they are.
ENCODED_ONCE = {"cpcfl": {"head_rounds": 0}, "fedrep": {"body_epochs": 2}}
# Local-only trains at the end, and split learning needs another network.
APART = {"local-only", "fsl"}


def sent(method: FederatedMethod, task: Task) -> Mapping[str, State]:
    """What clients send after their first round, but for statistics of their images."""
    server = method.start(task, 0)
    clients = method.participants(task, 0)
    download, memory = method.broadcast(Round(task, 0, clients), server), method.new_memory(task)
    upload = method.local_update(Round(task, 0, clients), download, memory)
    if hasattr(memory, "models"):
        return {"models": memory.models}
    return {
        k: v for k, v in upload.per_client.items() if k not in ("statistics", "centroids", "choice")
    }


def mirrored(task: Task) -> Task:
    """The task whose training images are mirrored."""
    train = task.federation.train
    federation = replace(task.federation, train=ImageSet(train.images.flip(3), train.labels))
    return replace(task, federation=federation)


def test_the_supervised_methods_are_those_with_the_option() -> None:
    assert {"fedavg", "fedprox", "moon", "heterofl", "split-mix", "fedpac", "fsl"} <= {*WITH_LABELS}
    assert {"fedavg-ft", "scaffold-ft", "ditto", "ifca", "cpcfl", "centralized"} <= {*WITH_LABELS}
    assert not {"fedbyol", "calibre", "mfcl", "untrained"} & {*WITH_LABELS}


@pytest.mark.parametrize("name", sorted({*WITH_LABELS} - APART))
def test_clients_train_on_views_as_on_images_that_were_changed_before(
    make_task: MakeTask, name: str
) -> None:
    options: dict[str, Any] = {**OPTIONS, **ENCODED_ONCE.get(name, {})}
    # One cluster: which one a client chooses is measured on its images as they are.
    options |= {"n_clusters": 1} if name in ("ifca", "cpcfl") else {}
    cls, task = registry.find("federated", name), replace(make_task((9, 9, 6)), at_width=None)
    task = replace(task, at_width=lambda share: task.model)
    found = sent(cls(**options, augments=True), replace(task, augmentation=MIRROR))
    expected = sent(cls(**options), mirrored(task))
    plain = sent(cls(**options), task)
    assert found.keys() == expected.keys()
    moved = 0.0
    for payload, state in expected.items():
        for key, value in state.items():
            torch.testing.assert_close(found[payload][key], value, rtol=1e-4, atol=1e-6)
            moved += float((plain[payload][key] - value).abs().sum())
    assert moved > 1e-3


def test_clients_of_split_learning_train_on_views(make_task: MakeTask) -> None:
    method = FSL(**{**OPTIONS, "optimizer": "sgd"})
    encoder = ResNet(10, stem="cifar", width=4, **method.encoder_options())
    model = Classifier(encoder.build(1, 6), encoder.out_dim, dense_head(encoder.out_dim, (), 3))
    task = replace(make_task(), model=model)
    found = sent(replace(method, augments=True), replace(task, augmentation=MIRROR))
    expected, plain = sent(method, mirrored(task)), sent(method, task)
    for key, value in expected["weights"].items():
        torch.testing.assert_close(found["weights"][key], value, rtol=1e-4, atol=1e-6)
    assert any(not torch.equal(plain["weights"][k], v) for k, v in expected["weights"].items())


def test_clients_that_only_train_alone_see_views_too(make_task: MakeTask) -> None:
    task, start = make_task(), repeat(make_task().new_model("model"), 3)
    method = LocalOnly(**OPTIONS, epochs=2)
    found = replace(method, augments=True).adapt(replace(task, augmentation=MIRROR), {}, start)
    expected = method.adapt(mirrored(task), {}, start)
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=1e-4, atol=1e-6)


def test_a_view_is_drawn_anew_in_every_round_and_epoch(make_task: MakeTask) -> None:
    task = replace(make_task(), augmentation=replace(MIRROR, flip_probability=0.5))
    seen: list[torch.Tensor] = []
    stacked = Augmentation.stacked_views

    class Recorded(Augmentation):
        def stacked_views(self, *given: Any) -> list[torch.Tensor]:
            found = stacked(self, *given)
            seen.append(found[0])
            return found

    half = {field.name: getattr(task.augmentation, field.name) for field in fields(Augmentation)}
    options = {**OPTIONS, "batch_size": 10}
    run(FedAvg(**options, augments=True), replace(task, augmentation=Recorded(**half)))
    # Two rounds of two epochs; a batch holds all images of a client, in another order.
    assert len(seen) == 4
    assert len({float(views[0, :, 0, :, 0].sum()) for views in seen}) == 4


def test_evaluation_and_personalisation_see_the_images_themselves(make_task: MakeTask) -> None:
    task = replace(make_task(), augmentation=MIRROR)
    server = task.new_model("model")
    scores = [
        method.evaluate(task, server, method.new_memory(task), False).predicted
        for method in (FedAvg(**OPTIONS), FedAvg(**OPTIONS, augments=True))
    ]
    assert all(map(torch.equal, *scores))
    adapted = [
        LGFedAvg(**OPTIONS, augments=augments).adapt(task, server, repeat(server, 3))
        for augments in (False, True)
    ]
    for name, value in adapted[0].items():
        assert torch.equal(value, adapted[1][name])
