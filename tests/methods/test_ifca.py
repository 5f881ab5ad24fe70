from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import Message, Round
from fedrepro.methods.federated.client_memory import ClientMemory
from fedrepro.methods.federated.clustered._clustered import Clusters
from fedrepro.methods.federated.clustered.ifca import IFCA
from fedrepro.methods.federated.loop import run
from fedrepro.methods.nn.classifier import ENCODER, HEAD
from fedrepro.methods.state import n_bytes, part, take
from tests.methods.conftest import MakeTask

METHOD = IFCA(rounds=12, local_epochs=2, batch_size=8, learning_rate=0.02, n_clusters=2)


def test_known_clusters_are_recovered(two_rules: MakeTask) -> None:
    task = two_rules()
    outcome = run(METHOD, task)
    choice, group = outcome.arrays["choice"][-1], task.federation.group.numpy()
    assert len(set(zip(choice, group, strict=True))) == 2
    assert len(set(choice)) == 2
    assert outcome.metrics["accuracy"].read("final") > 0.9
    assert outcome.counts["clustering_failed"] == 0


def test_one_model_cannot_serve_both_groups(two_rules: MakeTask) -> None:
    outcome = run(replace(METHOD, n_clusters=1), two_rules())
    assert outcome.metrics["accuracy"].read("final") < 0.7
    assert outcome.counts["restarts"] == 0
    assert outcome.counts["clustering_failed"] == 0


def test_a_failed_clustering_starts_again_with_other_weights(make_task: MakeTask) -> None:
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


def test_after_the_last_restart_training_goes_on_and_the_failure_is_recorded(
    make_task: MakeTask,
) -> None:
    # Clients with the very same images always agree.
    task = make_task(sizes=(10, 10))
    own = task.federation.train_of[0]
    task = replace(task, federation=replace(task.federation, train_of=(own, own)))
    outcome = run(replace(METHOD, rounds=2, max_restarts=3), task)
    assert outcome.counts["restarts"] == 3
    assert outcome.counts["clustering_failed"] == 1
    assert outcome.arrays["choice"].shape == (2, 2)
    both_rounds = outcome.counts["downloaded_bytes"] + outcome.counts["uploaded_bytes"]
    assert outcome.counts["wasted_bytes"] == 3 * both_rounds / 2


def test_with_a_pre_trained_encoder_only_heads_are_random(make_task: MakeTask) -> None:
    task = make_task()
    encoder = part(task.new_model("elsewhere"), ENCODER)
    pool = METHOD.start(replace(task, encoder=encoder), 0).pool
    for name, value in encoder.items():
        assert torch.equal(pool[name], value.repeat(2, *[1] * (value.dim() - 1)))
    assert not torch.equal(pool["head.0.weight"][0], pool["head.0.weight"][1])


def test_every_client_takes_the_model_of_lowest_loss(make_task: MakeTask) -> None:
    task = make_task(sizes=(10, 7, 10, 4))
    pool = replace(METHOD, n_clusters=4).start(task, 0).pool
    choice = METHOD.choose(Round(task, 0, torch.arange(4)), pool)
    train = task.federation.train
    assert train.labels is not None
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


def test_a_cluster_is_the_weighted_average_of_its_clients_and_stays_if_it_has_none(
    make_task: MakeTask,
) -> None:
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


def test_a_client_that_never_took_part_is_evaluated_with_its_best_model(
    make_task: MakeTask,
) -> None:
    task = make_task()
    server = Clusters(METHOD.start(task, 0).pool, torch.tensor([1, -1, 0]))
    best = METHOD.choose(Round(task, 0, torch.arange(3)), server.pool)
    _, choice = METHOD.personal_models(task, server, ClientMemory())
    assert choice.tolist() == [1, int(best[1]), 0]
    assert server.choice.tolist() == [1, -1, 0]


def test_clients_may_choose_again_before_they_are_evaluated(make_task: MakeTask) -> None:
    task = make_task()
    method = replace(METHOD, choose_again=True)
    best = METHOD.choose(Round(task, 0, torch.arange(3)), METHOD.start(task, 0).pool)
    server = Clusters(METHOD.start(task, 0).pool, 1 - best)
    for one, expected in ((METHOD, 1 - best), (method, best)):
        _, choice = one.personal_models(task, server, ClientMemory())
        assert torch.equal(choice, expected)


def test_models_may_start_from_one_encoder(make_task: MakeTask) -> None:
    task = make_task()
    each, common = (replace(METHOD, common_encoder=c).start(task, 0).pool for c in (False, True))
    for name, value in part(each, ENCODER).items():
        assert not name.endswith("weight") or not torch.equal(value[0], value[1])
        assert torch.equal(common[name], value[:1].expand_as(value))
    assert not torch.equal(common["head.0.weight"][0], common["head.0.weight"][1])


def test_failure_may_be_looked_for_after_the_last_round_alone(make_task: MakeTask) -> None:
    # Clients with the very same images always agree.
    task = make_task(sizes=(10, 10))
    own = task.federation.train_of[0]
    task = replace(task, federation=replace(task.federation, train_of=(own, own)))
    method = replace(METHOD, rounds=3, max_restarts=1)
    wasted = []
    for at_end in (False, True):
        counts = run(replace(method, restart_at_end=at_end), task).counts
        assert counts["restarts"] == 1
        one_round = (counts["downloaded_bytes"] + counts["uploaded_bytes"]) / 3
        wasted.append(counts["wasted_bytes"] / one_round)
    assert wasted == [1, 3]


def test_each_client_exchanges_the_pool_and_one_model_a_round(make_task: MakeTask) -> None:
    task = make_task(sizes=(10, 4, 7))
    method = replace(METHOD, n_clusters=4, rounds=3, max_restarts=0)
    counts = run(method, task).counts
    size = n_bytes(task.new_model("any"))
    exchanged = counts["downloaded_bytes.weights"] + counts["uploaded_bytes.weights"]
    assert exchanged / 3 == (4 + 1) * size * 3
    assert counts["uploaded_bytes.choice"] == 8 * 3 * 3
    assert counts["uploaded_bytes"] == counts["uploaded_bytes.weights"] + 8 * 3 * 3


def test_heads_of_different_clusters_part_ways(two_rules: MakeTask) -> None:
    task = two_rules()
    server = METHOD.start(task, 0)
    trained = METHOD.train_supervised(
        Round(task, 0, torch.arange(6)), server.pool, task.federation.group
    )
    merged = METHOD.merge(server.pool, trained, task.federation.group, torch.ones(6))
    for name, value in part(merged, HEAD).items():
        torch.testing.assert_close(value[0], trained[name][:3].mean(0))
        torch.testing.assert_close(value[1], trained[name][3:].mean(0))
