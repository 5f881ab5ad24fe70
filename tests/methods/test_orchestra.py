import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.client_memory import ClientStates
from fedrepro.methods.federated.loop import run
from fedrepro.methods.federated.self_supervised import featarc
from fedrepro.methods.federated.self_supervised.fedsimclr import FedSimCLR
from fedrepro.methods.federated.self_supervised.orchestra import FederatedOrchestra
from fedrepro.methods.objectives._memory import unit
from fedrepro.methods.objectives.orchestra import CENTROIDS, QUEUE, Orchestra, cluster_loss, turned
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.state import n_bytes, part, take
from fedrepro.methods.training.client_views import ClientViews
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import make_task, one_round

PLAIN = Augmentation((0.5, 1.0), jitter_probability=0, grey_probability=0)
OPTIONS = Orchestra(n_global_clusters=6, projector_width=4, memory_size=8)
METHOD = FederatedOrchestra(
    rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01, n_local_clusters=3
)


def prepared(task: Task) -> Task:
    return replace(task, objective=OPTIONS, augmentation=PLAIN)


def test_assignments_agree_by_cross_entropy() -> None:
    online, target = unit(torch.randn(1, 3, 4)), unit(torch.randn(1, 3, 4))
    centroids = unit(torch.randn(1, 5, 4))
    total = 0.0
    for i in range(3):
        p, q = (
            [math.exp(float(z[0, i] @ c) / 0.1) for c in centroids[0]] for z in (target, online)
        )
        total -= sum(a / sum(p) * math.log(b / sum(q)) for a, b in zip(p, q, strict=True)) / 3
    assert cluster_loss(online, target, centroids, 0.1).tolist() == pytest.approx([total], rel=1e-4)


def test_images_are_turned_by_their_place() -> None:
    x = torch.randn(2, 6, 1, 4, 4)
    found, turns = turned(x)
    for i in range(6):
        assert torch.equal(found[1, i, 0], x[1, i, 0].rot90(i % 4))
        assert int(turns[1, i]) == i % 4


def test_target_follows_slowly_and_its_projections_are_queued() -> None:
    task = make_task()
    learner = OPTIONS.build(task.model.encoder, task.model.dim, 3)
    state = learner.new(torch.Generator().manual_seed(0))
    memory = learner.memory(state)
    views = [torch.rand(1, 5, 1, 6, 6) for _ in range(2)]
    learner.loss(state, memory, views, None)
    assert memory[f"{QUEUE}.filled"].tolist() == [5]
    target = {k: v.clone() for k, v in memory.items()}
    moved = {k: v + 1 for k, v in state.items()}
    learner.update(moved, memory)
    name = "projector.0.weight"
    torch.testing.assert_close(memory[name], 0.996 * target[name] + 0.004 * moved[name])
    assert torch.equal(memory[CENTROIDS], target[CENTROIDS])


def test_only_centroids_travel_beside_the_weights() -> None:
    task = prepared(make_task(sizes=(10, 7, 9)))
    outcome = run(METHOD, task)
    weights = n_bytes(METHOD.start(task, 0).weights)
    assert outcome.counts["uploaded_bytes"] == 2 * 3 * (weights + 3 * 4 * 4)
    assert outcome.counts["downloaded_bytes"] == 2 * 3 * (weights + 6 * 4 * 4)
    assert bool(torch.isfinite(torch.tensor(outcome.arrays["loss"])).all())


def test_global_centroids_come_from_the_clients() -> None:
    task, clients = prepared(make_task()), torch.arange(3)
    server = METHOD.start(task, 0)
    _, _, after = one_round(METHOD, Round(task, 0, clients), server)
    assert after.centroids.shape == (1, 6, 4)
    torch.testing.assert_close(after.centroids.norm(dim=2), torch.ones(1, 6))
    assert not torch.allclose(after.centroids, server.centroids)


def test_clients_may_only_cluster_in_the_first_round() -> None:
    task, clients = prepared(make_task()), torch.arange(3)
    method = replace(METHOD, clusters_first=True)
    server, memory = method.start(task, 0), method.new_memory(task)
    _, _, first = one_round(method, Round(task, 0, clients), server, memory)
    for name, value in first.weights.items():
        torch.testing.assert_close(value, server.weights[name])
    assert not torch.allclose(first.centroids, server.centroids)
    _, _, second = one_round(method, Round(task, 1, clients), first, memory)
    assert not torch.allclose(second.weights["turns.weight"], first.weights["turns.weight"])


FEATARC_METHOD = featarc.FeatARC(rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01)


def prepared_of_featarc(task: Task) -> Task:
    return replace(task, objective=SimCLR(projector_widths=(4,)), augmentation=PLAIN)


def test_agreement_is_the_mean_cosine() -> None:
    a = torch.tensor([[1.0, 0.0], [2.0, 0.0]])
    b = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    assert float(featarc.feature_agreement(a, b)) == pytest.approx(0.5)


def test_loss_loses_lambda_times_the_agreement() -> None:
    task = prepared_of_featarc(make_task())
    state = FEATARC_METHOD.learner(task).new(torch.Generator().manual_seed(0))
    received = part(FEATARC_METHOD.learner(task).new(torch.Generator().manual_seed(1)), "encoder")
    at = torch.arange(5).view(1, 5)
    losses = []
    for weight in (0.0, 2.0):
        views = ClientViews(task.augmentation, task.federation.train, task.seeds, 0, at[0, :1])
        work = featarc.AlignedViews(task, FEATARC_METHOD.learner(task), views, weight)
        losses.append(work.loss(state, received, Batch((0,), at, at, 0)))
    again = ClientViews(task.augmentation, task.federation.train, task.seeds, 0, at[0, :1])
    x = again(Batch((0,), at, at, 0), 2)[0]
    h, g = (task.model.encoder(s, x)[0] for s in (state, received))
    expected = 2 * F.cosine_similarity(h, g).mean()
    torch.testing.assert_close((losses[0] - losses[1])[0], expected)


def test_a_client_takes_the_model_that_sees_as_its_own_does() -> None:
    task = prepared_of_featarc(make_task())
    models = FEATARC_METHOD.start(task, 0).models
    now = Round(task, 0, torch.arange(3))
    assert FEATARC_METHOD.chosen(now, models, FEATARC_METHOD.new_memory(task)).tolist() == [0, 1, 0]
    own = part(take(models, [1, 0, 1]), "encoder")
    memory = featarc.FeatARCMemory(ClientStates(torch.tensor([True, True, False]), own))
    # Clients 0 and 1 hold copies of models 1 and 0; client 2 has none of its own yet.
    assert FEATARC_METHOD.chosen(now, models, memory).tolist() == [1, 0, 0]


def test_models_are_averaged_over_those_who_took_them() -> None:
    task = prepared_of_featarc(make_task(sizes=(5, 10, 15)))
    server = FEATARC_METHOD.start(task, 0)
    sent = {k: torch.randn(3, *v.shape[1:]) for k, v in server.models.items()}
    choice = {"choice": torch.tensor([0, 0, 0])}
    up = Message(per_client={"weights": sent, "choice": choice})
    after = FEATARC_METHOD.aggregate(Round(task, 0, torch.arange(3)), server, up)
    for name, value in sent.items():
        expected = (5 * value[0] + 10 * value[1] + 15 * value[2]) / 30
        torch.testing.assert_close(after.models[name][0], expected)
        assert torch.equal(after.models[name][1], server.models[name][1])
    assert FEATARC_METHOD.encoder(after)["encoder.conv0.weight"].shape[0] == 1  # type: ignore[index]
    most = featarc.Groups(server.models, torch.tensor([1, 0, 1]))
    encoder = FEATARC_METHOD.encoder(most)
    assert torch.equal(encoder["encoder.conv0.weight"], server.models["encoder.conv0.weight"][1:])


def test_one_model_without_alignment_is_fedsimclr() -> None:
    task = prepared_of_featarc(make_task())
    plain = FedSimCLR(rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01)
    ours = replace(FEATARC_METHOD, n_models=1, alignment_weight=0.0)
    theirs, found = run(plain, task).encoder, run(ours, task).encoder
    torch.testing.assert_close(found, theirs, rtol=1e-4, atol=1e-6)
