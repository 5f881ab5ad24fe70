"""Images without labels, dealt to clients beside their labelled ones."""

from __future__ import annotations

from dataclasses import replace

import torch

from fedrepro.methods.data.federation import UNLABELED, Federation
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round
from fedrepro.methods.federated.personalized.fedavg_ft import FedAvgFT
from fedrepro.methods.federated.self_supervised.pfl_ssl import PFLSSL
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.seeds import Seeds
from tests.methods.conftest import MakeTask


def federation(make_task: MakeTask, novel: int = 1) -> tuple[Federation, Federation]:
    """Three clients that train and a novel one, without and with 20 more images."""
    plain = replace(make_task((6, 6, 6, 6)).federation, novel=novel)
    stream = torch.Generator().manual_seed(9)
    more = torch.randint(0, 256, (20, 1, 6, 6), generator=stream).to(torch.uint8)
    return plain, plain.with_unlabeled(more, Seeds(0))


def test_they_are_dealt_evenly_and_only_to_clients_that_train(make_task: MakeTask) -> None:
    plain, more = federation(make_task)
    assert [len(hand) for hand in more.unlabeled_of] == [7, 7, 6, 0]
    dealt = torch.cat(more.unlabeled_of).sort().values
    assert torch.equal(dealt, torch.arange(24, 44))
    assert more.train.labels is not None
    assert (more.train.labels[dealt] == UNLABELED).all()
    assert all(map(torch.equal, more.train_of, plain.train_of))


def test_whoever_needs_labels_sees_none_of_them(make_task: MakeTask) -> None:
    plain, more = federation(make_task)
    assert torch.equal(more.class_counts(), plain.class_counts())
    assert torch.equal(more.sizes(), plain.sizes())
    task = replace(make_task((6, 6, 6, 6)), federation=plain)
    method = FedAvgFT(rounds=1, local_epochs=1)
    without, having = (loop.run(method, replace(task, federation=f)) for f in (plain, more))
    assert without.metrics == having.metrics


def test_learning_without_labels_takes_both_kinds(make_task: MakeTask) -> None:
    _, more = federation(make_task)
    pooled = PFLSSL().prepare(more)
    assert pooled.sizes().tolist() == [13, 13, 12, 6]
    assert pooled.n_training == 3
    assert torch.equal(pooled.class_counts(), more.class_counts())
    for own, labelled, other in zip(pooled.train_of, more.train_of, more.unlabeled_of, strict=True):
        assert set(own.tolist()) == set(labelled.tolist()) | set(other.tolist())


def test_training_uses_them(make_task: MakeTask) -> None:
    task = replace(
        make_task((6, 6, 6, 6)),
        objective=SimCLR(projector_widths=(6, 4)),
        augmentation=Augmentation(crop_scale=(0.5, 1.0)),
    )
    method = PFLSSL(rounds=1, local_epochs=1, batch_size=4)
    updates = []
    for held in federation(make_task):
        own = replace(task, federation=method.prepare(held))
        server, clients = method.start(own, 0), torch.arange(3)
        download = method.broadcast(Round(own, 0, clients), server)
        updates.append(
            method.local_update(
                Round(own, 0, clients), download, method.new_memory(own)
            ).per_client["weights"]
        )
    assert not torch.equal(updates[0]["encoder.dense.weight"], updates[1]["encoder.dense.weight"])


def test_without_them_nothing_changes(make_task: MakeTask) -> None:
    plain, _ = federation(make_task)
    assert PFLSSL().prepare(plain) is plain
