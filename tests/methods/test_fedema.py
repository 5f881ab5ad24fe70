from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import CENTRES
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated import loop
from fedrepro.methods.federated.base import Round, Task
from fedrepro.methods.federated.self_supervised._initial_centres import with_initial_centres
from fedrepro.methods.federated.self_supervised._local_models import KeepsLocalModel, mixed
from fedrepro.methods.federated.self_supervised.fedema import FedEMA
from fedrepro.methods.federated.self_supervised.fedpnp import FedPNP
from fedrepro.methods.federated.self_supervised.fedrlc import FedRLC, merged_centres
from fedrepro.methods.federated.self_supervised.fedu import FedU
from fedrepro.methods.objectives._soft_clusters import divergence, student_t
from fedrepro.methods.objectives.byol import BYOL
from fedrepro.methods.objectives.crossed_kl import CrossedKL, CrossedKLLearner
from fedrepro.methods.objectives.past_negatives import KNOWN
from fedrepro.methods.registry import find
from fedrepro.methods.state import State, repeat, take
from tests.methods.conftest import make_task, one_round

TWO = torch.tensor([0, 1])


def states() -> tuple[State, State]:
    """What two clients receive, and their own models: 3-4-5 and 6-8-10 triangles away."""
    received = {
        "encoder.a.weight": torch.zeros(2, 1, 2),
        "encoder.norm.running_mean": torch.zeros(2, 1),
        "projector.0.weight": torch.zeros(2, 1, 1),
        "predictor.0.weight": torch.zeros(2, 1, 1),
    }
    own = {
        "encoder.a.weight": torch.tensor([[[3.0, 0.0]], [[6.0, 0.0]]]),
        "encoder.norm.running_mean": torch.tensor([[100.0], [100.0]]),
        "projector.0.weight": torch.tensor([[[4.0]], [[8.0]]]),
        "predictor.0.weight": torch.tensor([[[7.0]], [[7.0]]]),
    }
    return received, own


def test_fedema_scales_each_client_by_its_first_divergence() -> None:
    method, task = FedEMA(autoscaler_tau=0.5), make_task((4, 4))
    memory = method.new_memory(task)
    received, own = states()
    first = method.merge(Round(task, 1, TWO), received, own, memory)
    # Whatever the divergence, the first share is τ: λ is 0.1 and 0.05.
    assert first["encoder.a.weight"][:, 0, 0].tolist() == pytest.approx([1.5, 3.0])
    assert first["predictor.0.weight"].flatten().tolist() == pytest.approx([3.5, 3.5])
    assert memory.scale.tolist() == pytest.approx([0.1, 0.05])

    # Client 0 has come closer (a fifth of its first divergence), client 1 has drifted (3 times).
    closer_and_further = {
        k: v * torch.tensor([0.2, 3.0]).view(2, *[1] * (v.dim() - 1)) for k, v in own.items()
    }
    later = method.merge(Round(task, 2, TWO), received, closer_and_further, memory)
    assert later["encoder.a.weight"][:, 0, 0].tolist() == pytest.approx([0.1 * 0.6, 18.0])


def test_fedu_keeps_its_own_predictor_only_where_models_diverged() -> None:
    received, own = states()
    method, task = FedU(divergence_threshold=5.0), make_task((4, 4))
    merged = method.merge(Round(task, 1, TWO), received, own, method.new_memory(task))
    assert merged["predictor.0.weight"].flatten().tolist() == [0.0, 7.0]
    for name in ("encoder.a.weight", "projector.0.weight", "encoder.norm.running_mean"):
        assert torch.equal(merged[name], received[name])


@pytest.mark.parametrize(
    ("distance", "expected"),
    [("norm", [5.0, 10.0]), ("layers", [3.5, 7.0]), ("convolutions", [3.0, 6.0])],
)
def test_the_first_scale_is_of_the_distance_that_is_asked_for(
    distance: Any, expected: list[float]
) -> None:
    kernel = "encoder.a.weight"
    received, own = (
        {k: v.view(2, 1, 2, 1, 1) if k == kernel else v for k, v in each.items()}
        for each in states()
    )
    method, task = FedEMA(autoscaler_tau=0.5, distance=distance), make_task((4, 4))
    memory = method.new_memory(task)
    method.merge(Round(task, 1, TWO), received, own, memory)
    assert (0.5 / memory.scale).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("method", [FedEMA(), FedU(divergence_threshold=0.0)], ids=["ema", "u"])
def test_the_next_round_starts_from_a_mixture_of_received_and_kept(method: KeepsLocalModel) -> None:
    method = replace(method, rounds=2, local_epochs=1, batch_size=5, optimizer="sgd")
    task = replace(
        make_task((10, 7)),
        objective=BYOL(projector_widths=(6, 4), predictor_width=5),
        augmentation=Augmentation(crop_scale=(0.5, 1.0)),
    )
    server, memory = method.start(task, 0), method.new_memory(task)
    download = method.broadcast(Round(task, 0, TWO), server)
    start = method.begin(Round(task, 0, TWO), download, memory)
    assert all(torch.equal(start[name][1], server[name][0]) for name in server)

    # Only client 1 trains in the first round: client 0 meets the second one as a newcomer.
    only = torch.tensor([1])
    upload = method.local_update(Round(task, 0, only), download, memory)
    own = upload.per_client["weights"]
    target = take(memory.objective.state, only)
    download = method.broadcast(Round(task, 1, TWO), server)
    start = method.begin(Round(task, 1, TWO), download, memory)
    assert all(torch.equal(start[name][0], server[name][0]) for name in server)
    share = {"FedEMA": 0.7, "FedU": 1.0}[type(method).__name__]
    expected = mixed(own, repeat(server, 1), torch.tensor([share]))
    moved = "predictor.0.weight"
    torch.testing.assert_close(start[moved][1:], expected[moved])
    assert not torch.equal(start[moved][1], server[moved][0])
    # The target network stays on the client.
    kept = memory.objective.recall(TWO, method.learner(task).memory(start))
    assert all(torch.equal(kept[name][1], target[name][0]) for name in target)


SGD: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 0.05}
OPTIONS = {"rounds": 2, "local_epochs": 1, "batch_size": 5, **SGD}
NETWORKS = {"projector_widths": (6, 4), "predictor_width": 5, "negative_threshold": 0.9}


def task_of(task: Task, method: Any) -> Task:
    cls = find("objective", method.objective_name())
    own = {name: value for name, value in NETWORKS.items() if name in cls.__dataclass_fields__}
    augmentation = Augmentation(crop_scale=(0.5, 1.0))
    return replace(task, objective=cls(**own), augmentation=augmentation)


def test_centres_keep_more_of_their_own_the_more_labels_diverge() -> None:
    own, received = torch.tensor([[[4.0]], [[4.0]], [[4.0]]]), torch.zeros(3, 1, 1)
    found = merged_centres(own, received, torch.tensor([0.0, 1.0, 3.0]))
    assert found.flatten().tolist() == [0.0, 2.0, 3.0]


def rlc() -> tuple[FedRLC, Task, CrossedKLLearner]:
    method = FedRLC(**OPTIONS)
    task = task_of(make_task((10, 7)), method)
    learner = method.learner(task)
    return method, task, learner


def test_label_divergence_is_that_of_the_mean_of_two_views() -> None:
    method, task, learner = rlc()
    received, own = (learner.new(torch.Generator().manual_seed(k)) for k in (0, 1))
    now = Round(task, 3, torch.tensor([1]))
    found = method.label_divergence(now, received, own)
    stream = task.seeds.generator("centre views", 3, 1)
    images = task.federation.train.images[task.federation.train_of[1]]
    views = task.augmentation.stacked_views(images[None], 2, [stream])

    def labels(model: State) -> Tensor:
        z = sum(learner.embed(model, x, training=False) for x in views) / 2
        return student_t(z, model[CENTRES])[0]

    q_global, q_own = labels(received), labels(own)
    expected = sum(float((q_global[i] * (q_global[i] / q_own[i]).log()).sum()) for i in range(7))
    assert float(found) == pytest.approx(expected / 7, rel=1e-4)
    assert float(method.label_divergence(now, own, own)) == pytest.approx(0, abs=1e-6)


def test_fedrlc_merges_networks_as_fedema_and_centres_by_divergence() -> None:
    method, task, learner = rlc()
    received, own = (
        {k: v.repeat(2, *[1] * (v.dim() - 1)) for k, v in learner.new(g).items()}
        for g in (torch.Generator().manual_seed(0), torch.Generator().manual_seed(1))
    )
    now = Round(task, 1, TWO)
    found = method.merge(now, received, own, method.new_memory(task))
    as_ema = FedEMA().merge(now, received, own, method.new_memory(task))
    for name in found:
        if name != CENTRES:
            torch.testing.assert_close(found[name], as_ema[name])
    for k in range(2):
        epsilon = method.label_divergence(now.of(TWO[[k]]), take(received, [k]), take(own, [k]))
        share = float(epsilon / (1 + epsilon))
        expected = share * own[CENTRES][k] + (1 - share) * received[CENTRES][k]
        torch.testing.assert_close(found[CENTRES][k], expected)
        assert 0 < share < 1


def test_without_a_clustering_loss_fedrlc_is_fedema() -> None:
    method, plain = FedRLC(**OPTIONS), FedEMA(**OPTIONS)
    task = make_task((10, 7))
    bare = CrossedKL(projector_widths=(6, 4), predictor_width=5, clustering_loss=False)
    augmentation = Augmentation(crop_scale=(0.5, 1.0))
    ours = loop.run(method, replace(task, objective=bare, augmentation=augmentation)).encoder
    theirs = loop.run(plain, task_of(task, plain)).encoder
    assert ours.keys() == theirs.keys()
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_centres_begin_among_the_embedded_images() -> None:
    _, task, learner = rlc()
    fresh = learner.new(task.seeds.generator("weights", "model", 0, 0))
    state = with_initial_centres(task, learner, fresh)
    assert state[CENTRES].shape == fresh[CENTRES].shape
    assert all(torch.equal(state[name], fresh[name]) for name in fresh if name != CENTRES)
    images = task.federation.train.images[:10].float()[None] / 255
    z = learner.embed({k: v.clone() for k, v in fresh.items()}, images, training=True)[0]
    far = float((fresh[CENTRES][0].unsqueeze(1) - z).norm(dim=2).amin(1).mean())
    near = float((state[CENTRES][0].unsqueeze(1) - z).norm(dim=2).amin(1).mean())
    assert near < far
    q = student_t(z[None], state[CENTRES])
    assert len(set(q[0].argmax(1).tolist())) > 1
    assert float(divergence(q, q).sum()) == pytest.approx(0, abs=1e-6)


def test_fedpnp_labels_by_what_the_client_had_after_its_last_round() -> None:
    method = FedPNP(**OPTIONS)
    task = task_of(make_task((10, 7)), method)
    server, memory = method.start(task, 0), method.new_memory(task)
    only = torch.tensor([1])
    _, upload, _ = one_round(method, Round(task, 0, only), server, memory)
    assert memory.objective.state[KNOWN].tolist() == [False, True]
    kept = memory.objective.state["past.cluster_head.0.weight"][1]
    assert torch.equal(kept, upload.per_client["weights"]["cluster_head.0.weight"][0])
    assert not torch.equal(kept, server["cluster_head.0.weight"][0])
