"""HeteroFL's slices and averages by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.supervised.heterofl import (
    HeteroFL,
    PresentClasses,
    overlapping_average,
    sliced,
)
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.state import n_bytes
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import MakeTask

METHOD = HeteroFL(levels=(1.0, 0.5), rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01)


def at_width(classes: int = 3) -> Callable[[float], Classifier]:
    def made(share: float) -> Classifier:
        encoder = CNN(widths=(4, 4), dim=4, padding=1).narrowed(share)
        head = dense_head(encoder.out_dim, (), classes)
        return Classifier(encoder.build(1, 6), encoder.out_dim, head)

    return made


def widths(task: Task) -> Task:
    make = at_width()
    return replace(task, model=make(1.0), at_width=make)


def test_each_weight_is_averaged_over_the_clients_that_hold_it() -> None:
    old = {"w": torch.zeros(1, 2, 3), "b": torch.tensor([[7.0, 7.0]])}
    wide = {"w": torch.full((1, 2, 2), 3.0), "b": torch.tensor([[1.0, 5.0]])}
    narrow = {"w": torch.tensor([[[6.0]], [[9.0]]]), "b": torch.tensor([[3.0], [5.0]])}
    found = overlapping_average(old, [wide, narrow])
    # Held by all three: (3 + 6 + 9) / 3; by the wide one alone: 3; by nobody: the old 0.
    assert found["w"][0].tolist() == [[6.0, 3.0, 0.0], [3.0, 3.0, 0.0]]
    assert found["b"][0].tolist() == [3.0, 5.0]


def test_a_slice_is_the_first_channels_and_a_model_of_that_width() -> None:
    make = at_width()
    whole = make(1.0).new(torch.Generator().manual_seed(0))
    half = sliced(whole, make(0.5).new(torch.Generator()))
    assert half["encoder.conv1.weight"].shape == (1, 2, 2, 3, 3)
    assert torch.equal(half["encoder.conv1.weight"], whole["encoder.conv1.weight"][:, :2, :2])
    assert half["head.0.weight"].shape == (1, 3, 2)
    make(0.5)(half, torch.rand(1, 2, 1, 6, 6))


def test_clients_receive_and_send_what_their_level_holds(make_task: MakeTask) -> None:
    task = widths(make_task(sizes=(10, 10, 10)))
    make = at_width()
    whole, half = (n_bytes(make(share).new(torch.Generator())) for share in (1.0, 0.5))
    outcome = run(METHOD, task)
    # Clients 0 and 2 hold everything, client 1 the half.
    for direction in ("downloaded", "uploaded"):
        assert outcome.counts[f"{direction}_bytes"] == 2 * (2 * whole + half)


def test_equal_levels_average_without_weights(make_task: MakeTask) -> None:
    task, clients = widths(make_task(sizes=(4, 16))), torch.arange(2)
    method = replace(METHOD, levels=(1.0,))
    server = method.start(task, 0)
    up = method.local_update(
        Round(task, 0, clients),
        method.broadcast(Round(task, 0, clients), server),
        method.new_memory(task),
    )
    after = method.aggregate(Round(task, 0, clients), server, up)
    for name, value in up.per_client["weights 1"].items():
        torch.testing.assert_close(after[name][0], (value[0] + value[1]) / 2)


def test_logits_of_absent_classes_are_zero(make_task: MakeTask) -> None:
    task = widths(make_task())
    labels = task.federation.train.labels
    assert labels is not None
    labels[:10] = 1
    work = PresentClasses(Round(task, 0, torch.tensor([0])), 1.0)
    batch = Batch((0,), torch.arange(4).view(1, 4), torch.arange(4).view(1, 4), 0)
    logits = work.logits(task.new_model("m"), {}, batch)
    assert bool((logits[:, :, [0, 2]] == 0).all())
    assert bool((logits[:, :, 1] != 0).any())


def test_impossible_levels_are_refused(make_task: MakeTask) -> None:
    with pytest.raises(ValueError, match="not shares"):
        HeteroFL(levels=(1.5,))
    with pytest.raises(ValueError, match="other widths"):
        run(METHOD, make_task())
