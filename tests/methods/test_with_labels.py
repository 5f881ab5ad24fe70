from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from fedrepro.methods import registry
from fedrepro.methods.data.federation import UNLABELED, Federation, ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import FederatedMethod, Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.personalized.fedavg_ft import FedAvgFT
from fedrepro.methods.federated.personalized.lg_fedavg import LGFedAvg
from fedrepro.methods.federated.self_supervised.pfl_ssl import PFLSSL
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, repeat
from tests.methods.conftest import PLAIN, make_task, one_round

MIRROR = replace(PLAIN, flip_probability=1.0)
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
    memory, now = method.new_memory(task), Round(task, 0, method.participants(task, 0))
    _, upload, _ = one_round(method, now, memory=memory)
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


@pytest.mark.parametrize("name", sorted({*WITH_LABELS} - APART))
def test_clients_train_on_views_as_on_images_that_were_changed_before(name: str) -> None:
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


def test_a_view_is_drawn_anew_in_every_round_and_epoch() -> None:
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


def test_evaluation_and_personalisation_see_the_images_themselves() -> None:
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
    torch.testing.assert_close(adapted[1], adapted[0], rtol=0, atol=0)


def federation(novel: int = 1) -> tuple[Federation, Federation]:
    """Three clients that train and a novel one, without and with 20 more images."""
    plain = replace(make_task((6, 6, 6, 6)).federation, novel=novel)
    stream = torch.Generator().manual_seed(9)
    more = torch.randint(0, 256, (20, 1, 6, 6), generator=stream).to(torch.uint8)
    return plain, plain.with_unlabeled(more, Seeds(0))


def test_they_are_dealt_evenly_and_only_to_clients_that_train() -> None:
    plain, more = federation()
    assert [len(hand) for hand in more.unlabeled_of] == [7, 7, 6, 0]
    dealt = torch.cat(more.unlabeled_of).sort().values
    assert torch.equal(dealt, torch.arange(24, 44))
    assert (more.train.labels[dealt] == UNLABELED).all()
    assert all(map(torch.equal, more.train_of, plain.train_of))


def test_whoever_needs_labels_sees_none_of_them() -> None:
    plain, more = federation()
    assert torch.equal(more.class_counts(), plain.class_counts())
    assert torch.equal(more.sizes(), plain.sizes())
    task = replace(make_task((6, 6, 6, 6)), federation=plain)
    method = FedAvgFT(rounds=1, local_epochs=1)
    without, having = (loop.run(method, replace(task, federation=f)) for f in (plain, more))
    assert without.metrics == having.metrics


def test_learning_without_labels_takes_both_kinds() -> None:
    _, more = federation()
    pooled = PFLSSL().prepare(more)
    assert pooled.sizes().tolist() == [13, 13, 12, 6]
    assert pooled.n_training == 3
    assert torch.equal(pooled.class_counts(), more.class_counts())
    for own, labelled, other in zip(pooled.train_of, more.train_of, more.unlabeled_of, strict=True):
        assert set(own.tolist()) == set(labelled.tolist()) | set(other.tolist())
