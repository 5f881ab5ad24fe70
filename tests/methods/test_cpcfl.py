from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.clustered._clustered import Clusters
from fedrepro.methods.federated.clustered.cpcfl import CPCFL
from fedrepro.methods.federated.loop import run
from fedrepro.methods.nn.classifier import ENCODER, HEAD
from fedrepro.methods.state import State, n_bytes, part
from fedrepro.methods.training.evaluate import client_losses
from tests.methods.conftest import MakeTask

METHOD = CPCFL(
    rounds=4, local_epochs=3, batch_size=4, learning_rate=0.01, n_clusters=3, head_rounds=2
)


def pretrained(task: Task) -> Task:
    return replace(task, encoder=part(task.new_model("elsewhere"), ENCODER))


def servers(method: CPCFL, task: Task) -> list[Clusters]:
    """The server at the start and after every round."""
    states: list[Clusters] = [method.start(task, 0)]
    everyone = torch.arange(task.federation.n_clients)
    for t in range(method.rounds):
        download = method.broadcast(Round(task, t, everyone), states[-1])
        upload = method.local_update(Round(task, t, everyone), download, method.new_memory(task))
        states.append(method.aggregate(Round(task, t, everyone), states[-1], upload))
    return states


def equal(left: State, right: State) -> bool:
    return all(torch.equal(left[name], right[name]) for name in left)


def is_one_encoder(pool: State) -> bool:
    return all(bool((v == v[:1]).all()) for v in part(pool, ENCODER).values())


@pytest.mark.parametrize("shared_encoder", [False, True])
def test_the_encoder_is_unchanged_in_head_rounds_and_trained_after_them(
    make_task: MakeTask, shared_encoder: bool
) -> None:
    task = pretrained(make_task(sizes=(10, 4, 7, 10)))
    states = servers(replace(METHOD, shared_encoder=shared_encoder), task)
    assert task.encoder is not None
    for server in states[:3]:
        for name, value in task.encoder.items():
            assert torch.equal(server.pool[name], value.expand_as(server.pool[name]))
    assert not equal(part(states[1].pool, HEAD), part(states[0].pool, HEAD))
    assert not equal(part(states[3].pool, ENCODER), part(states[2].pool, ENCODER))


def test_a_frozen_encoder_never_changes(make_task: MakeTask) -> None:
    task = pretrained(make_task(sizes=(10, 4, 7, 10)))
    states = servers(replace(METHOD, encoder_epochs=0), task)
    for before, after in itertools.pairwise(states):
        assert equal(part(before.pool, ENCODER), part(after.pool, ENCODER))
        assert not equal(part(before.pool, HEAD), part(after.pool, HEAD))


def test_the_last_epochs_may_train_the_encoder_instead_of_the_first(make_task: MakeTask) -> None:
    task = pretrained(make_task())
    method = replace(METHOD, encoder_epochs=1, encoder_last=True)
    assert method.encoder_epochs_in(0) == 0  # a head-only round
    assert method.encoder_epochs_in(2) == range(2, 3)
    assert replace(method, encoder_epochs=5).encoder_epochs_in(2) == range(3)
    assert replace(method, encoder_epochs=None).encoder_epochs_in(2) is None
    method = replace(method, head_rounds=0, rounds=1)
    pools = [
        servers(replace(method, encoder_last=last, encoder_epochs=epochs), task)[-1].pool
        for last, epochs in ((True, 1), (False, 1), (True, 3), (False, 3))
    ]
    assert not equal(part(pools[0], ENCODER), part(pools[1], ENCODER))
    assert equal(pools[2], pools[3])


def test_models_need_not_start_from_one_encoder(make_task: MakeTask) -> None:
    task = make_task()
    one, many = (replace(METHOD, common_encoder=c).start(task, 0).pool for c in (True, False))
    assert is_one_encoder(one)
    assert not is_one_encoder(many)
    assert equal(part(one, HEAD), part(many, HEAD))


def test_head_rounds_choose_at_random_then_the_lowest_loss_decides(make_task: MakeTask) -> None:
    task = pretrained(make_task(sizes=[6] * 30))
    method = replace(METHOD, rounds=3)
    states = servers(method, task)
    logged = run(method, task).arrays["choice"]
    assert logged.dtype == np.int16
    random = logged[:2]
    assert not np.array_equal(random[0], random[1])
    for row in random:
        assert np.bincount(row, minlength=3).min() >= 3
    losses = client_losses(task.model, states[2].pool, task.federation, torch.arange(30))
    np.testing.assert_array_equal(logged[2], losses.argmin(1).numpy())
    before = client_losses(task.model, states[0].pool, task.federation, torch.arange(30))
    assert not np.array_equal(random[0], before.argmin(1).numpy())


def test_a_shared_encoder_is_the_average_of_all_clients_and_heads_stay_apart(
    make_task: MakeTask,
) -> None:
    task = pretrained(make_task(sizes=(10, 4, 7)))
    method = replace(METHOD, shared_encoder=True)
    server = method.start(task, 0)
    trained = {name: torch.randn(3, *value.shape[1:]) for name, value in server.pool.items()}
    upload = Message(per_client={"weights": trained, "choice": {"choice": torch.tensor([1, 0, 1])}})
    pool = method.aggregate(Round(task, 2, torch.arange(3)), server, upload).pool
    for name, value in part(trained, ENCODER).items():
        mean = np.average(value.numpy(), axis=0, weights=[10, 4, 7])
        for n in range(3):
            np.testing.assert_allclose(pool[name][n].numpy(), mean, rtol=1e-5, atol=1e-7)
    for name, value in part(trained, HEAD).items():
        mean = np.average(value[[0, 2]].numpy(), axis=0, weights=[10, 7])
        np.testing.assert_allclose(pool[name][1].numpy(), mean, rtol=1e-5, atol=1e-7)
        assert torch.equal(pool[name][2], server.pool[name][2])


def test_a_shared_encoder_stays_one_through_training(make_task: MakeTask) -> None:
    task = pretrained(make_task())
    shared = servers(replace(METHOD, shared_encoder=True), task)
    assert all(is_one_encoder(server.pool) for server in shared)
    own = servers(replace(METHOD, n_clusters=2), task)
    assert len(set(own[-1].choice.tolist())) < 2 or not is_one_encoder(own[-1].pool)


def test_without_pre_training_all_clusters_start_from_one_random_encoder(
    make_task: MakeTask,
) -> None:
    pool = METHOD.start(make_task(), 0).pool
    assert is_one_encoder(pool)
    assert not torch.equal(pool["head.0.weight"][0], pool["head.0.weight"][1])


def test_each_client_exchanges_the_pool_and_one_model_a_round(make_task: MakeTask) -> None:
    task = pretrained(make_task())
    counts = run(METHOD, task).counts
    size = n_bytes(task.new_model("any"))
    exchanged = counts["downloaded_bytes.weights"] + counts["uploaded_bytes.weights"]
    assert exchanged / 3 == (3 + 1) * size * METHOD.rounds
    assert counts["uploaded_bytes.choice"] == 8 * 3 * METHOD.rounds


def test_a_shared_encoder_is_sent_once(make_task: MakeTask) -> None:
    task = pretrained(make_task())
    counts = run(replace(METHOD, shared_encoder=True), task).counts
    model = task.new_model("any")
    encoder, head = n_bytes(part(model, ENCODER)), n_bytes(part(model, HEAD))
    assert counts["downloaded_bytes"] / 3 == (encoder + 3 * head) * METHOD.rounds


def test_clusters_are_recovered_from_a_pre_trained_encoder(two_rules: MakeTask) -> None:
    task = pretrained(two_rules())
    method = CPCFL(
        rounds=12, local_epochs=2, batch_size=8, learning_rate=0.02, n_clusters=2, head_rounds=2
    )
    outcome = run(method, task)
    pairs = set(zip(outcome.arrays["choice"][-1], task.federation.group.numpy(), strict=True))
    assert len(pairs) == 2
    assert outcome.metrics["accuracy"].read("final") > 0.9
