import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.self_supervised._features import all_but, unpacked
from fedrepro.methods.federated.self_supervised._fusion import FusionLoss, Remote, new_bank
from fedrepro.methods.federated.self_supervised.fcl import FCL
from fedrepro.methods.objectives._memory import enqueue, unit
from fedrepro.methods.objectives._neighbourhood_matching import draw_candidates, neighbourhood_loss
from fedrepro.methods.objectives.moco import MoCo, MoCoLearner, info_nce
from fedrepro.methods.privacy.instahide import instahide
from fedrepro.methods.state import State, clone, take
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import learn_in_torch, make_task, one_round

OPTIONS: dict[str, Any] = {"rounds": 3, "local_epochs": 1, "batch_size": 4, "learning_rate": 0.01}
OBJECTIVE = MoCo(projector_widths=(6, 4), queue_size=6, target_momentum=0.9, temperature=0.3)


def fcl(**options: Any) -> FCL:
    return FCL(**{**OPTIONS, "neighbours": 2, "mixed_images": 3, **options})


def with_objective(task: Task) -> Task:
    return replace(task, objective=OBJECTIVE, augmentation=Augmentation(crop_scale=(0.5, 1.0)))


def fusion_step(
    task: Task, method: FCL, remote: list[Remote]
) -> tuple[FusionLoss, MoCoLearner, State, State, Batch]:
    """Two clients in their first step, with a half-filled bank."""
    learner = method.learner(task)
    server = method.start(task, 0)
    clients = torch.arange(2)
    work = FusionLoss(replace(method, batch_size=4), learner, Round(task, 4, clients), remote)
    state = take(server.query, [0, 0])
    memory = {**take(server.key, [0, 0]), **new_bank(learner, 2, state["projector.0.weight"])}
    enqueue(memory, "queue", unit(torch.randn(2, 3, 4)))
    enqueue(memory, "images", torch.tensor([[[1], [2], [3]], [[11], [12], [13]]]))
    own = torch.stack(task.federation.train_of[:2])
    at = torch.tensor([[0, 5, 2, 7], [1, 3, 4, 6]])
    work.begin_epoch(state, memory, (0, 1), own, 0)
    return work, learner, state, memory, Batch((0, 1), own.gather(1, at), at, 0)


@pytest.mark.parametrize("local_negatives", [False, True])
@pytest.mark.parametrize("matching", [False, True])
@pytest.mark.parametrize("has_remote", [False, True])
def test_the_loss_is_equation_12_client_by_client(
    local_negatives: bool, matching: bool, has_remote: bool
) -> None:
    task = with_objective(make_task((10, 10)))
    method = fcl(
        local_negatives=local_negatives,
        neighbourhood_matching=matching,
        matching_weight=0.7,
        matching_temperature=0.4,
    )
    remote = [Remote(unit(torch.randn(n, 4)), torch.arange(n)) for n in (5, 3)]
    work, learner, state, memory, batch = fusion_step(task, method, remote if has_remote else [])
    before = clone({k: v for k, v in memory.items() if k.startswith("queue")})
    losses = work.loss(state, memory, batch)

    for client in range(2):
        own = take(state, [client])
        looks = task.seeds.generator("views", 4, client)
        images = task.federation.train.images[batch.index[client]]
        v_q, v_k = task.augmentation.views(images, 2, looks)
        q, k = learner.project(own, v_q[None]), learner.project(own, v_k[None])
        local = before["queue.features"][client, :3]
        theirs = remote[client].features if has_remote else local[:0]
        use_local = local_negatives or not has_remote
        negatives = torch.cat([theirs, local]) if use_local else theirs
        expected = info_nce(q, k, negatives[None], 0.3).mean()
        if matching:
            slots = torch.zeros(1, 6 + (5 if has_remote else 0), dtype=torch.bool)
            slots[0, :3] = True
            slots[0, 6:][: len(theirs)] = True
            stream = task.seeds.generator("candidates", 4, client)
            drawn = draw_candidates(slots, 6, [stream])[0]
            drawn = drawn[slots[0, drawn]]
            padding = torch.zeros((5 if has_remote else 0) - len(theirs), 4)
            bank = torch.cat([before["queue.features"][client], theirs, padding])
            expected = expected + 0.7 * neighbourhood_loss(q, bank[drawn][None], 2, 0.4)[0]
        torch.testing.assert_close(losses[client], expected)
        queued = memory["queue.features"][client, :4]
        torch.testing.assert_close(queued, k[0].flip(0))
        assert (
            memory["images.features"][client, :4, 0].tolist()
            == batch.index[client].flip(0).tolist()
        )


def test_no_gradient_reaches_the_momentum_encoder_or_a_bank() -> None:
    task = with_objective(make_task((10, 10)))
    remote = [Remote(unit(torch.randn(5, 4)), torch.arange(5)) for _ in range(2)]
    work, _, state, memory, batch = fusion_step(task, fcl(local_negatives=True), remote)
    for tensors in (state, memory):
        for value in tensors.values():
            if value.is_floating_point():
                value.requires_grad_()
    kept = dict(memory)
    work.loss(state, memory, batch).sum().backward()
    assert all(value.grad is not None for value in state.values())
    encoders = [kept[name] for name in state]
    assert all(value.grad is None for value in encoders)


def test_remote_features_are_everybody_elses_of_the_last_round() -> None:
    task = with_objective(make_task((10, 4, 8)))
    method, clients = fcl(), torch.arange(3)
    server, memory = method.start(task, 0), method.new_memory(task)
    download, upload, server = one_round(method, Round(task, 0, clients), server, memory)
    assert set(download.shared) == {"weights", "momentum"}
    assert not download.per_client
    sent = unpacked(dict(upload.per_client["features"]))
    assert [len(features) for features in sent] == [6, 4, 6]  # K, or all of a client's images
    download = method.broadcast(Round(task, 1, clients), server)
    received = unpacked(dict(download.per_client["features"]))
    for client in range(3):
        expected = [sent[other] for other in range(3) if other != client]
        assert torch.equal(received[client], torch.cat(expected))


def test_a_client_that_receives_nothing_contrasts_with_its_own_features() -> None:
    """In the second round here only client 0 has uploaded anything, and it is not its own."""
    task = with_objective(make_task((8, 8)))
    method = fcl(neighbourhood_matching=False)
    server, memory = method.start(task, 0), method.new_memory(task)
    _, _, server = one_round(method, Round(task, 0, torch.tensor([0])), server, memory)
    _, upload, _ = one_round(method, Round(task, 1, torch.tensor([0, 1])), server, memory)
    assert bool((upload.log["loss"] > 0.5).all())
    assert bool(upload.log["false_negative_ratio"].isfinite().all())


def test_what_absent_clients_have_stays_on_the_server_and_with_them() -> None:
    task = with_objective(make_task((8, 8, 8)))
    method = fcl()
    server, memory = method.start(task, 0), method.new_memory(task)
    _, _, server = one_round(method, Round(task, 0, torch.tensor([0, 1])), server, memory)
    first, bank = server.banks[0], clone(memory.bank)
    assert bank["queue.filled"].tolist() == [6, 6, 0]
    _, _, server = one_round(method, Round(task, 1, torch.tensor([1, 2])), server, memory)
    assert sorted(server.banks) == [0, 1, 2]
    assert torch.equal(server.banks[0], first)
    assert all_but(server.banks, 2).shape == (12, 4)
    assert torch.equal(memory.bank["queue.features"][0], bank["queue.features"][0])
    assert not torch.equal(memory.bank["queue.features"][1], bank["queue.features"][1])


def test_uploaded_features_are_those_of_encrypted_views_by_the_momentum_encoder() -> None:
    task = with_objective(make_task((8, 8)))
    method = fcl(batch_size=8)
    remote: list[Remote] = []
    work, learner, state, memory, _ = fusion_step(task, method, remote)
    memory = {**memory, **{name: value + 0.1 for name, value in state.items()}}
    work.end(state, memory, (0, 1), torch.stack(task.federation.train_of))
    for client in range(2):
        stream = task.seeds.generator("encryption", 4, client)
        looks = task.seeds.generator("views", 4, client)
        own = task.federation.train_of[client]
        chosen = own[torch.randperm(8, generator=stream)[:6]]
        assert torch.equal(work.uploaded[client], chosen)
        view = task.augmentation.views(task.federation.train.images[chosen], 1, looks)[0]
        encrypted = instahide(view, 3, stream)
        key = {name: memory[name][client : client + 1] for name in state}
        expected = learner.project(key, encrypted[None])[0]
        torch.testing.assert_close(work.uploads[client], expected)


def test_both_encoders_are_averaged_by_numbers_of_images() -> None:
    task = with_objective(make_task((10, 5)))
    method, clients = fcl(), torch.arange(2)
    server = method.start(task, 0)
    _, upload, after = one_round(method, Round(task, 0, clients), server, method.new_memory(task))
    for payload, averaged in (("weights", after.query), ("momentum", after.key)):
        for name, value in upload.per_client[payload].items():
            torch.testing.assert_close(averaged[name][0], (2 * value[0] + value[1]) / 3)
    name = "encoder.conv0.weight"
    assert not torch.equal(after.query[name], after.key[name])


def test_the_bytes_of_features_are_counted_apart() -> None:
    task = with_objective(make_task((8, 8, 8)))
    outcome = loop.run(fcl(), task)
    each = (6 * 4) * 4 + 8  # six features of four floats, and their number
    assert outcome.counts["uploaded_bytes.features"] == 3 * 3 * each
    assert outcome.counts["downloaded_bytes.features"] == 2 * 3 * (12 * 4 * 4 + 8)
    alone = loop.run(fcl(feature_fusion=False), task)
    assert "uploaded_bytes.features" not in alone.counts


def test_without_fusion_and_matching_a_lone_client_trains_moco() -> None:
    task = with_objective(make_task((9,)))
    method = fcl(rounds=1, local_epochs=3, feature_fusion=False, neighbourhood_matching=False)
    learner = method.learner(task)
    state = clone(method.start(task, 0).query)
    learn_in_torch(task, learner, state, learner.memory(state), epochs=3)
    found = loop.run(method, task).encoder
    for name, value in state.items():
        torch.testing.assert_close(found[name], value.detach(), rtol=1e-4, atol=1e-5, msg=name)


def test_labels_change_nothing_but_the_measurement() -> None:
    task = with_objective(make_task((10, 10)))
    train = task.federation.train
    for labels in (torch.zeros(20, dtype=torch.int64), None):
        other = replace(task.federation, train=replace(train, labels=labels))
        one, two = (loop.run(fcl(), replace(task, federation=f)) for f in (task.federation, other))
        torch.testing.assert_close(two.encoder, one.encoder, rtol=0, atol=0)
        assert ("false_negative_ratio" in two.metrics) == (labels is not None)


def by_class(task: Task, images: int) -> Task:
    """Client c holds `images` images of class c alone."""
    federation = task.federation
    labels = torch.arange(federation.n_clients).repeat_interleave(images)
    train = replace(federation.train, labels=labels)
    return with_objective(
        replace(task, federation=replace(federation, train=train, n_classes=federation.n_clients))
    )


@pytest.mark.parametrize(
    ("options", "last"), [({"feature_fusion": False}, 1.0), ({"local_negatives": False}, 0.0)]
)
def test_the_measured_ratio_of_disjoint_classes_is_the_closed_form(
    options: dict[str, Any], last: float
) -> None:
    """m = 1: alone every negative is false; with remote negatives alone none is."""
    outcome = loop.run(fcl(**options), by_class(make_task((8, 8, 8, 8)), 8))
    measured, expected = (
        outcome.metrics[name].values
        for name in ("false_negative_ratio", "expected_false_negative_ratio")
    )
    assert measured[0] == expected[0] == 1.0  # nobody has uploaded anything yet
    assert measured[-1] == expected[-1] == last


def test_with_full_banks_the_measured_ratio_comes_to_one_over_m_and_clients() -> None:
    task = by_class(make_task((8, 8, 8, 8)), 8)
    outcome = loop.run(fcl(local_negatives=True), task)
    assert outcome.metrics["expected_false_negative_ratio"].values[-1] == pytest.approx(1 / 4)
    # From the second round on every bank is full: six local features, eighteen remote ones.
    assert outcome.metrics["false_negative_ratio"].values[-1] == pytest.approx(1 / 4)
    assert outcome.arrays["false_negative_ratio"].shape == (3, 4)


def vectors(*shape: int, seed: int = 0) -> Tensor:
    drawn = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return drawn / drawn.norm(dim=-1, keepdim=True)


def literal(q: Tensor, candidates: Tensor, n: int, temperature: float) -> float:
    """Eqs. 8 to 11 as they are printed, one model, one number at a time."""
    k = len(candidates)
    total = 0.0
    for q_i in q:
        similarity = [float(q_i @ c) / (float(q_i.norm()) * float(c.norm())) for c in candidates]
        top = sorted(range(k), key=lambda m: -similarity[m])[:n]
        for j in top:
            members = [j, *(m for m in range(k) if m not in top)]  # L_j, Eq. 9
            assert len(members) == k - n + 1
            e = [math.exp(float(q_i @ candidates[a]) / temperature) for a in members]
            p = [value / sum(e) for value in e]  # Eq. 10
            total -= sum(value * math.log(value) for value in p) / n  # Eq. 11
    return total / len(q)


@pytest.mark.parametrize(("n", "temperature"), [(1, 0.2), (3, 0.2), (3, 1.0), (7, 0.5)])
def test_the_loss_equals_a_literal_transcription(n: int, temperature: float) -> None:
    q, candidates = vectors(2, 5, 4), vectors(2, 8, 4, seed=1)
    losses = neighbourhood_loss(q, candidates, n, temperature)
    for model in range(2):
        expected = literal(q[model], candidates[model], n, temperature)
        assert losses[model].item() == pytest.approx(expected, abs=1e-12)


def test_candidates_that_do_not_exist_have_no_part() -> None:
    q, candidates = vectors(2, 5, 4), vectors(2, 9, 4, seed=1)
    valid = torch.tensor([[True] * 4 + [False] * 5, [True] * 9])
    losses = neighbourhood_loss(q, candidates, 3, 0.3, valid)
    assert losses[0].item() == pytest.approx(literal(q[0], candidates[0, :4], 3, 0.3), abs=1e-12)
    assert losses[1].item() == pytest.approx(literal(q[1], candidates[1], 3, 0.3), abs=1e-12)


def test_fewer_candidates_than_neighbours_leave_nothing_to_be_unsure_of() -> None:
    q = vectors(1, 5, 4).requires_grad_()
    candidates = vectors(1, 9, 4, seed=1)
    for kept in (0, 2):
        valid = torch.arange(9).unsqueeze(0) < kept
        loss = neighbourhood_loss(q, candidates, 3, 0.3, valid)
        assert loss.item() == pytest.approx(0.0, abs=1e-12)
        (gradient,) = torch.autograd.grad(loss.sum(), [q])
        assert not gradient.any()


def test_candidates_are_different_and_uniform_over_what_exists() -> None:
    valid = torch.ones(2, 12, dtype=torch.bool)
    valid[1, 9:] = False
    streams = [torch.Generator().manual_seed(i) for i in range(2)]
    counts = torch.zeros(2, 12)
    for _ in range(3000):
        drawn = draw_candidates(valid, 4, streams)
        for model in range(2):
            assert len(set(drawn[model].tolist())) == 4
            counts[model, drawn[model]] += 1
    torch.testing.assert_close(counts[0] / 3000, torch.full((12,), 4 / 12), atol=0.05, rtol=0)
    torch.testing.assert_close(counts[1, :9] / 3000, torch.full((9,), 4 / 9), atol=0.05, rtol=0)
    assert not counts[1, 9:].any()
