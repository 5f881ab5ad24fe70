"""FedProx's gradient by hand, and FedAvg where its term has no weight."""

from __future__ import annotations

from dataclasses import replace

import torch

from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.supervised.fedavg import FedAvg
from fedrepro.methods.federated.supervised.fedprox import FedProx, Proximal
from fedrepro.methods.state import repeat
from fedrepro.methods.training.local import Supervised
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import MakeTask


def test_gradient_gains_mu_times_the_way_from_the_received_model(make_task: MakeTask) -> None:
    task = make_task()
    anchor, mu = task.new_model("anchor"), 0.3
    state = {k: (v + 0.1 * torch.randn_like(v)) for k, v in repeat(anchor, 2).items()}
    batch = Batch((0, 1), torch.arange(8).view(2, 4), torch.arange(8).view(2, 4), 0)
    found = {}
    for name, work in (
        ("plain", Supervised(task.model, task.federation.train, None)),
        ("held", Proximal(task, anchor, mu)),
    ):
        leaves = {k: v.clone().requires_grad_() for k, v in state.items()}
        loss = work.loss(leaves, {}, batch)
        found[name] = loss, torch.autograd.grad(loss.sum(), list(leaves.values()))
    for (key, value), plain, held in zip(
        state.items(), found["plain"][1], found["held"][1], strict=True
    ):
        torch.testing.assert_close(held - plain, mu * (value - anchor[key]), rtol=1e-4, atol=1e-6)
    far = sum(((state[k] - anchor[k]) ** 2).flatten(1).sum(1) for k in state)
    torch.testing.assert_close(found["held"][0] - found["plain"][0], mu / 2 * far)


def test_without_weight_it_is_fedavg_and_with_much_it_stays(make_task: MakeTask) -> None:
    options = {"rounds": 2, "local_epochs": 2, "batch_size": 5, "optimizer": "sgd"}
    task = make_task()
    plain = run(FedAvg(learning_rate=0.1, **options), task)  # type: ignore[arg-type]
    free = FedProx(learning_rate=0.1, proximal_weight=0.0, **options)  # type: ignore[arg-type]
    outcome = run(free, task)
    assert plain.encoder is not None
    assert outcome.encoder is not None
    for name, value in plain.encoder.items():
        torch.testing.assert_close(outcome.encoder[name], value)

    start = free.start(task, 0)
    moved = []
    for weight in (0.0, 5.0):
        after = run(replace(free, proximal_weight=weight), task).encoder
        assert after is not None
        moved.append(sum(float((after[k] - start[k]).square().sum()) for k in after))
    assert moved[1] < 0.8 * moved[0]
