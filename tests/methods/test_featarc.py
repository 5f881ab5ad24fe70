"""FeatARC's alignment, choices and averages by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.client_memory import ClientStates
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.self_supervised.featarc import (
    AlignedViews,
    FeatARC,
    FeatARCMemory,
    Groups,
    feature_agreement,
)
from fedrepro.methods.federated.self_supervised.fedsimclr import FedSimCLR
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.state import part, take
from fedrepro.methods.training.client_views import ClientViews
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import MakeTask

METHOD = FeatARC(rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01)


def prepared(task: Task) -> Task:
    plain = Augmentation((0.5, 1.0), jitter_probability=0, grey_probability=0)
    return replace(task, objective=SimCLR(projector_widths=(4,)), augmentation=plain)


def test_agreement_is_the_mean_cosine() -> None:
    a = torch.tensor([[1.0, 0.0], [2.0, 0.0]])
    b = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    assert float(feature_agreement(a, b)) == pytest.approx(0.5)


def test_loss_loses_lambda_times_the_agreement(make_task: MakeTask) -> None:
    task = prepared(make_task())
    assert task.augmentation is not None
    state = METHOD.learner(task).new(torch.Generator().manual_seed(0))
    received = part(METHOD.learner(task).new(torch.Generator().manual_seed(1)), "encoder")
    at = torch.arange(5).view(1, 5)
    losses = []
    for weight in (0.0, 2.0):
        views = ClientViews(task.augmentation, task.federation.train, task.seeds, 0, at[0, :1])
        work = AlignedViews(task, METHOD.learner(task), views, weight)
        losses.append(work.loss(state, received, Batch((0,), at, at, 0)))
    again = ClientViews(task.augmentation, task.federation.train, task.seeds, 0, at[0, :1])
    x = again(Batch((0,), at, at, 0), 2)[0]
    h, g = (task.model.encoder(s, x)[0] for s in (state, received))
    expected = 2 * F.cosine_similarity(h, g).mean()
    torch.testing.assert_close((losses[0] - losses[1])[0], expected)


def test_a_client_takes_the_model_that_sees_as_its_own_does(make_task: MakeTask) -> None:
    task = prepared(make_task())
    models = METHOD.start(task, 0).models
    now = Round(task, 0, torch.arange(3))
    assert METHOD.chosen(now, models, METHOD.new_memory(task)).tolist() == [0, 1, 0]
    own = part(take(models, [1, 0, 1]), "encoder")
    memory = FeatARCMemory(ClientStates(torch.tensor([True, True, False]), own))
    # Clients 0 and 1 hold copies of models 1 and 0; client 2 has none of its own yet.
    assert METHOD.chosen(now, models, memory).tolist() == [1, 0, 0]


def test_models_are_averaged_over_those_who_took_them(make_task: MakeTask) -> None:
    task = prepared(make_task(sizes=(5, 10, 15)))
    server = METHOD.start(task, 0)
    sent = {k: torch.randn(3, *v.shape[1:]) for k, v in server.models.items()}
    choice = {"choice": torch.tensor([0, 0, 0])}
    up = Message(per_client={"weights": sent, "choice": choice})
    after = METHOD.aggregate(Round(task, 0, torch.arange(3)), server, up)
    for name, value in sent.items():
        expected = (5 * value[0] + 10 * value[1] + 15 * value[2]) / 30
        torch.testing.assert_close(after.models[name][0], expected)
        assert torch.equal(after.models[name][1], server.models[name][1])
    assert METHOD.encoder(after)["encoder.conv0.weight"].shape[0] == 1  # type: ignore[index]
    most = Groups(server.models, torch.tensor([1, 0, 1]))
    encoder = METHOD.encoder(most)
    assert encoder is not None
    assert torch.equal(encoder["encoder.conv0.weight"], server.models["encoder.conv0.weight"][1:])


def test_one_model_without_alignment_is_fedsimclr(make_task: MakeTask) -> None:
    task = prepared(make_task())
    plain = FedSimCLR(rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01)
    ours = replace(METHOD, n_models=1, alignment_weight=0.0)
    theirs, found = run(plain, task).encoder, run(ours, task).encoder
    assert theirs is not None
    assert found is not None
    for name, value in theirs.items():
        torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-6)


def test_it_trains_and_sends_every_model(make_task: MakeTask) -> None:
    outcome = run(METHOD, prepared(make_task()))
    assert outcome.arrays["choice"].shape == (2, 3)
    assert outcome.counts["downloaded_bytes"] > 1.9 * outcome.counts["uploaded_bytes"]
    with pytest.raises(ValueError, match="n_models = 0"):
        FeatARC(n_models=0)
