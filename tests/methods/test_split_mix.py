"""Split-Mix's ensembles and who trains which base network."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.supervised.split_mix import SplitMix, ensemble_logits
from fedrepro.methods.state import n_bytes, take
from tests.methods.conftest import MakeTask
from tests.methods.test_heterofl import at_width

METHOD = SplitMix(
    base_width=0.25, budgets=(0.25, 1.0), rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01
)


def widths(task: Task) -> Task:
    make = at_width()
    return replace(task, model=make(1.0), at_width=make)


def test_the_ensemble_is_the_mean_of_its_members_logits(make_task: MakeTask) -> None:
    task = widths(make_task())
    bases, model = METHOD.start(task, 0), at_width()(0.25)
    images = task.federation.test.images[:7]
    x = to_float(images)[None]
    each = [model(take(bases, [i]), x)[0] for i in range(4)]
    expected = (each[0] + each[1] + each[2] + each[3]) / 4
    torch.testing.assert_close(ensemble_logits(model, bases, images, batch_size=3), expected)
    assert not torch.allclose(each[0], each[1])


def test_budgets_decide_how_many_bases_a_client_trains(make_task: MakeTask) -> None:
    task = widths(make_task(sizes=(6, 6, 6)))
    who, which = METHOD._chosen(Round(task, 0, torch.arange(3)))
    assert torch.bincount(who).tolist() == [1, 4, 1]
    assert sorted(which[who == 1].tolist()) == [0, 1, 2, 3]
    drawn = {int(METHOD._chosen(Round(task, t, torch.tensor([0])))[1]) for t in range(40)}
    assert drawn == {0, 1, 2, 3}
    size = n_bytes(at_width()(0.25).new(torch.Generator()))
    assert run(METHOD, task).counts["uploaded_bytes"] == 2 * 6 * size


def test_a_base_is_averaged_over_those_who_trained_it_and_else_left(make_task: MakeTask) -> None:
    task = widths(make_task(sizes=(4, 12)))
    method = replace(METHOD, budgets=(0.25,))
    clients = torch.arange(2)
    for t in range(20):
        _, which = method._chosen(Round(task, t, clients))
        if which[0] == which[1]:
            break
    server = method.start(task, 0)
    up = method.local_update(
        Round(task, t, clients),
        method.broadcast(Round(task, t, clients), server),
        method.new_memory(task),
    )
    after = method.aggregate(Round(task, t, clients), server, up)
    for name, value in up.per_client["bases"].items():
        for base in range(4):
            if base == int(which[0]):
                expected = 0.25 * value[0] + 0.75 * value[1]
                torch.testing.assert_close(after[name][base], expected)
            else:
                assert torch.equal(after[name][base], server[name][base])


def test_impossible_shares_are_refused() -> None:
    with pytest.raises(ValueError, match="shares"):
        SplitMix(base_width=0.0)
