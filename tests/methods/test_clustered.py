import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.client_memory import ClientMemory
from fedrepro.methods.federated.clustered._clustered import Clusters
from fedrepro.methods.federated.clustered.cpcfl import CPCFL
from fedrepro.methods.federated.clustered.ifca import IFCA
from fedrepro.methods.federated.loop import run
from fedrepro.methods.nn.classifier import ENCODER, HEAD
from fedrepro.methods.state import State, n_bytes, part, take
from fedrepro.methods.training.evaluate import client_losses
from tests.methods.conftest import make_task, one_round, two_rules

METHOD = IFCA(rounds=12, local_epochs=2, batch_size=8, learning_rate=0.02, n_clusters=2)


def test_known_clusters_are_recovered() -> None:
    task = two_rules()
    outcome = run(METHOD, task)
    choice, group = outcome.arrays["choice"][-1], task.federation.group.numpy()
    assert len(set(zip(choice, group, strict=True))) == 2
    assert len(set(choice)) == 2
    assert outcome.metrics["accuracy"].read("final") > 0.9
    assert outcome.counts["clustering_failed"] == 0


def test_clients_of_known_groups_train_the_model_of_their_group() -> None:
    task = two_rules()
    choice = run(replace(METHOD, known_groups=True), task).arrays["choice"]
    assert (choice == task.federation.group.numpy()).all()
    with pytest.raises(ValueError, match="2 groups of clients, 1 models"):
        run(replace(METHOD, known_groups=True, n_clusters=1), task)


def test_a_failed_clustering_starts_again_with_other_weights() -> None:
    method, restarts = replace(METHOD, rounds=1), set()
    for trial in range(8):
        task = make_task(sizes=(10, 10), trial=trial)
        agreed = [
            len(
                set(
                    method.choose(
                        Round(task, 0, torch.arange(2)), method.start(task, a).pool
                    ).tolist()
                )
            )
            == 1
            for a in range(method.max_restarts + 1)
        ]
        outcome = run(method, task)
        assert outcome.counts["restarts"] == agreed.index(False)
        assert outcome.counts["clustering_failed"] == 0
        one_round = outcome.counts["downloaded_bytes"] + outcome.counts["uploaded_bytes"]
        assert outcome.counts["wasted_bytes"] == outcome.counts["restarts"] * one_round
        restarts.add(outcome.counts["restarts"])
    assert len(restarts) > 1


@pytest.fixture
def of_one_mind() -> Task:
    """Clients with the very same images always agree."""
    task = make_task(sizes=(10, 10))
    own = task.federation.train_of[0]
    return replace(task, federation=replace(task.federation, train_of=(own, own)))


def test_after_the_last_restart_training_goes_on_and_failure_is_recorded(of_one_mind: Task) -> None:
    outcome = run(replace(METHOD, rounds=2, max_restarts=3), of_one_mind)
    assert outcome.counts["restarts"] == 3
    assert outcome.counts["clustering_failed"] == 1
    groups = len(of_one_mind.federation.group.unique())
    assert outcome.metrics["merged_groups"].read("final") == groups - 1
    assert outcome.arrays["choice"].shape == (2, 2)
    both_rounds = outcome.counts["downloaded_bytes"] + outcome.counts["uploaded_bytes"]
    assert outcome.counts["wasted_bytes"] == 3 * both_rounds / 2


def test_with_a_pre_trained_encoder_only_heads_are_random() -> None:
    task = make_task()
    encoder = part(task.new_model("elsewhere"), ENCODER)
    pool = METHOD.start(replace(task, encoder=encoder), 0).pool
    for name, value in encoder.items():
        assert torch.equal(pool[name], value.repeat(2, *[1] * (value.dim() - 1)))
    assert not torch.equal(pool["head.0.weight"][0], pool["head.0.weight"][1])


def test_every_client_takes_the_model_of_lowest_loss() -> None:
    task = make_task(sizes=(10, 7, 10, 4))
    pool = replace(METHOD, n_clusters=4).start(task, 0).pool
    choice = METHOD.choose(Round(task, 0, torch.arange(4)), pool)
    train = task.federation.train
    for client, index in enumerate(task.federation.train_of):
        losses = [
            float(
                F.cross_entropy(
                    task.model(take(pool, [n]), to_float(train.images[index])[None])[0],
                    train.labels[index],
                )
            )
            for n in range(4)
        ]
        assert int(choice[client]) == int(np.argmin(losses))


def test_a_cluster_is_the_weighted_average_of_its_clients_and_stays_if_it_has_none() -> None:
    task = make_task(sizes=(10, 4, 7, 5))
    method = replace(METHOD, n_clusters=3)
    server = method.start(task, 0)
    trained = {name: torch.randn(3, *value.shape[1:]) for name, value in server.pool.items()}
    upload = Message(per_client={"weights": trained, "choice": {"choice": torch.tensor([2, 0, 2])}})
    after = method.aggregate(Round(task, 0, torch.tensor([0, 1, 3])), server, upload)
    for name, value in trained.items():
        both = np.average(value[[0, 2]].numpy(), axis=0, weights=[10, 5])
        np.testing.assert_allclose(after.pool[name][2].numpy(), both, rtol=1e-5, atol=1e-7)
        assert torch.equal(after.pool[name][0], value[1])
        assert torch.equal(after.pool[name][1], server.pool[name][1])
    assert after.choice.tolist() == [2, 0, -1, 2]


def test_a_client_that_never_took_part_is_evaluated_with_its_best_model() -> None:
    task = make_task()
    server = Clusters(METHOD.start(task, 0).pool, torch.tensor([1, -1, 0]))
    best = METHOD.choose(Round(task, 0, torch.arange(3)), server.pool)
    _, choice = METHOD.personal_models(task, server, ClientMemory())
    assert choice.tolist() == [1, int(best[1]), 0]
    assert server.choice.tolist() == [1, -1, 0]


def test_clients_may_choose_again_before_they_are_evaluated() -> None:
    task = make_task()
    method = replace(METHOD, choose_again=True)
    best = METHOD.choose(Round(task, 0, torch.arange(3)), METHOD.start(task, 0).pool)
    server = Clusters(METHOD.start(task, 0).pool, 1 - best)
    for one, expected in ((METHOD, 1 - best), (method, best)):
        _, choice = one.personal_models(task, server, ClientMemory())
        assert torch.equal(choice, expected)


def test_failure_may_be_looked_for_after_the_last_round_alone(of_one_mind: Task) -> None:
    method = replace(METHOD, rounds=3, max_restarts=1)
    wasted = []
    for at_end in (False, True):
        counts = run(replace(method, restart_at_end=at_end), of_one_mind).counts
        assert counts["restarts"] == 1
        one_round = (counts["downloaded_bytes"] + counts["uploaded_bytes"]) / 3
        wasted.append(counts["wasted_bytes"] / one_round)
    assert wasted == [1, 3]


def test_each_client_exchanges_the_pool_and_one_model_a_round() -> None:
    task = make_task(sizes=(10, 4, 7))
    method = replace(METHOD, n_clusters=4, rounds=3, max_restarts=0)
    counts = run(method, task).counts
    size = n_bytes(task.new_model("any"))
    exchanged = counts["downloaded_bytes.weights"] + counts["uploaded_bytes.weights"]
    assert exchanged / 3 == (4 + 1) * size * 3
    assert counts["uploaded_bytes.choice"] == 8 * 3 * 3
    assert counts["uploaded_bytes"] == counts["uploaded_bytes.weights"] + 8 * 3 * 3


CPCFL_METHOD = CPCFL(
    rounds=4, local_epochs=3, batch_size=4, learning_rate=0.01, n_clusters=3, head_rounds=2
)


def pretrained(task: Task) -> Task:
    return replace(task, encoder=part(task.new_model("elsewhere"), ENCODER))


def servers(method: CPCFL, task: Task) -> list[Clusters]:
    states: list[Clusters] = [method.start(task, 0)]
    everyone = torch.arange(task.federation.n_clients)
    for t in range(method.rounds):
        states.append(one_round(method, Round(task, t, everyone), states[-1])[2])
    return states


def equal(left: State, right: State) -> bool:
    return all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("shared_encoder", [False, True])
def test_the_encoder_rests_in_head_rounds_and_is_trained_after_them(shared_encoder: bool) -> None:
    task = pretrained(make_task(sizes=(10, 4, 7, 10)))
    states = servers(replace(CPCFL_METHOD, shared_encoder=shared_encoder), task)
    for server in states[:3]:
        for name, value in task.encoder.items():
            assert torch.equal(server.pool[name], value.expand_as(server.pool[name]))
    assert not equal(part(states[1].pool, HEAD), part(states[0].pool, HEAD))
    assert not equal(part(states[3].pool, ENCODER), part(states[2].pool, ENCODER))


def test_a_frozen_encoder_never_changes() -> None:
    task = pretrained(make_task(sizes=(10, 4, 7, 10)))
    states = servers(replace(CPCFL_METHOD, encoder_epochs=0), task)
    for before, after in itertools.pairwise(states):
        assert equal(part(before.pool, ENCODER), part(after.pool, ENCODER))
        assert not equal(part(before.pool, HEAD), part(after.pool, HEAD))


def test_the_last_epochs_may_train_the_encoder_instead_of_the_first() -> None:
    task = pretrained(make_task())
    method = replace(CPCFL_METHOD, encoder_epochs=1, encoder_last=True)
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


def test_head_rounds_choose_at_random_then_the_lowest_loss_decides() -> None:
    task = pretrained(make_task(sizes=[6] * 30))
    method = replace(CPCFL_METHOD, rounds=3)
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


def test_a_shared_encoder_is_the_average_of_all_clients_and_heads_stay_apart() -> None:
    task = pretrained(make_task(sizes=(10, 4, 7)))
    method = replace(CPCFL_METHOD, shared_encoder=True)
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


def test_a_shared_encoder_is_sent_once() -> None:
    task = pretrained(make_task())
    counts = run(replace(CPCFL_METHOD, shared_encoder=True), task).counts
    model = task.new_model("any")
    encoder, head = n_bytes(part(model, ENCODER)), n_bytes(part(model, HEAD))
    assert counts["downloaded_bytes"] / 3 == (encoder + 3 * head) * CPCFL_METHOD.rounds
