from __future__ import annotations

from dataclasses import replace

import torch

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.reference.centralized_moco import CentralizedMoCo
from fedrepro.methods.objectives.moco import MoCo
from fedrepro.methods.state import State
from tests.methods.conftest import MakeTask

METHOD = CentralizedMoCo(rounds=3, local_epochs=2, batch_size=5, learning_rate=0.01)
OBJECTIVE = MoCo(projector_widths=(6, 4), queue_size=8, target_momentum=0.9)


def pooled(task: Task) -> Task:
    """The task of the one client who holds everything, as the loop hands it over."""
    task = replace(task, objective=OBJECTIVE, augmentation=Augmentation(crop_scale=(0.5, 1.0)))
    return replace(task, federation=METHOD.prepare(task.federation))


def test_it_is_moco_trained_by_hand_on_all_images(make_task: MakeTask) -> None:
    task = pooled(make_task((6, 4, 7)))
    assert sorted(task.federation.train_of[0].tolist()) == list(range(17))
    learner = METHOD.learner(task)
    state = METHOD.start(task, 0)
    kept = learner.memory(state)
    for value in state.values():
        value.requires_grad_()
    assert task.augmentation is not None
    for t in range(3):
        steps = torch.optim.Adam(list(state.values()), lr=0.01)
        order = task.seeds.generator("batches", t, 0)
        looks = task.seeds.generator("views", t, 0)
        for _ in range(2):
            shuffled = torch.randperm(17, generator=order)
            for batch in shuffled.split(5):
                images = task.federation.train.images[task.federation.train_of[0][batch]]
                views = task.augmentation.views(images, 2, looks)
                steps.zero_grad()
                learner.loss(state, kept, [view[None] for view in views], None).sum().backward()
                steps.step()
                learner.update(state, kept)
    found = loop.run(METHOD, task).encoder
    assert found is not None
    for name, value in state.items():
        torch.testing.assert_close(found[name], value.detach(), rtol=1e-4, atol=1e-5, msg=name)


def test_the_queue_and_the_copy_go_on_from_round_to_round(make_task: MakeTask) -> None:
    task, clients = pooled(make_task((8, 8))), torch.zeros(1, dtype=torch.int64)
    memory = METHOD.new_memory(task)
    server = METHOD.start(task, 0)
    seen: list[State] = []
    for t in range(2):
        METHOD.local_update(
            Round(task, t, clients), METHOD.broadcast(Round(task, t, clients), server), memory
        )
        seen.append({name: value.clone() for name, value in memory.objective.state.items()})
    assert seen[0]["queue.filled"].tolist() == [8]
    name = "encoder.conv0.weight"
    assert not torch.equal(seen[0][name], seen[1][name])
    assert not torch.equal(seen[1][name], memory.models[name])


def test_nothing_is_sent(make_task: MakeTask) -> None:
    outcome = loop.run(METHOD, pooled(make_task()))
    assert outcome.counts["uploaded_bytes"] == outcome.counts["downloaded_bytes"] == 0
    assert outcome.arrays["loss"].shape == (3, 1)
