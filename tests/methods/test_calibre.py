import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.self_supervised.calibre import (
    Calibrated,
    Calibre,
    Remembering,
    mean_distances,
)
from fedrepro.methods.federated.self_supervised.pfl_ssl import PFLSSL
from fedrepro.methods.objectives._prototypes import clusters, prototype_contrast, prototype_meta
from fedrepro.methods.objectives.simclr import SimCLR, nt_xent
from fedrepro.methods.state import clone
from tests.methods.conftest import cosine, make_task, one_round, small_learner

OBJECTIVES = ["simclr", "byol", "simsiam", "moco", "swav", "smog"]
OPTIONS: dict[str, Any] = {"rounds": 2, "local_epochs": 2, "batch_size": 5, "learning_rate": 0.01}
BOTH = Calibre(n_prototypes=3)


def encodings(models: int = 2, batch: int = 9, width: int = 4) -> tuple[Tensor, ...]:
    return tuple(torch.randn(2, models, batch, width, dtype=torch.float64))


def test_clusters_are_of_both_views_and_alike_images_share_one() -> None:
    """Two kinds of image, far apart; any second view is near its first."""
    kind = torch.arange(10) % 2
    z_a = F.one_hot(kind, 3).double()[None] + 0.1 * torch.randn(1, 10, 3, dtype=torch.float64)
    z_b = z_a + 0.01 * torch.randn(1, 10, 3, dtype=torch.float64)
    of_a, of_b, k = clusters(z_a, 5 * z_b, 2)
    assert k == 2
    assert torch.equal(of_a, of_b)
    assert len(set(of_a[0, kind == 0].tolist())) == len(set(of_a[0, kind == 1].tolist())) == 1
    assert of_a[0, 0] != of_a[0, 1]


def test_there_are_no_more_clusters_than_images() -> None:
    assert clusters(*encodings(batch=4), n_prototypes=10)[2] == 4


def test_l_n_equals_a_plain_loop_over_its_definition() -> None:
    z_a, z_b = encodings()
    of_a, of_b = torch.randint(3, (2, 2, 9))
    of_a[0, 0], of_b[0][of_b[0] == 2] = 2, 1  # model 0 has no prototype of cluster 2
    found = prototype_meta(z_a, z_b, of_a, of_b, 3, 0.5)
    for model in range(2):
        prototypes = {
            k: F.normalize(z_b[model], dim=1)[of_b[model] == k].mean(0)
            for k in range(3)
            if bool((of_b[model] == k).any())
        }
        losses = []
        for z, k in zip(z_a[model], of_a[model].tolist(), strict=True):
            if k in prototypes:
                scores = {j: math.exp(cosine(z, v) / 0.5) for j, v in prototypes.items()}
                losses.append(-math.log(scores[k] / sum(scores.values())))
        assert len(losses) < 9 or model == 1
        assert found[model].item() == pytest.approx(sum(losses) / len(losses), abs=1e-9)


def test_at_a_temperature_of_one_half_l_n_is_the_softmax_of_squared_distances() -> None:
    """The text's p(k | x) = softmax(-d(z, v_k)), for vectors of length one."""
    z_a, z_b = encodings(models=1)
    of_a, of_b = torch.arange(9)[None] % 3, torch.arange(9)[None] % 3
    v = F.normalize(
        torch.stack([F.normalize(z_b[0], dim=1)[of_b[0] == k].mean(0) for k in range(3)]), dim=1
    )
    distances = torch.cdist(F.normalize(z_a[0], dim=1), v).square()
    expected = F.cross_entropy(-distances, of_a[0])
    torch.testing.assert_close(prototype_meta(z_a, z_b, of_a, of_b, 3, 0.5)[0], expected)


def test_l_p_equals_nt_xent_over_the_prototypes_of_both_views() -> None:
    h_a, h_b = encodings()
    of_a, of_b = torch.randint(3, (2, 2, 9))
    of_a[:, :3], of_b[:, :3] = torch.arange(3), torch.arange(3)
    of_b[0][of_b[0] == 1] = 0  # model 0 has cluster 1 in one view alone
    found = prototype_contrast(h_a, h_b, of_a, of_b, 3, 0.4)
    for model, present in enumerate(([0, 2], [0, 1, 2])):
        pairs = [
            (h_a[model][of_a[model] == k].mean(0), h_b[model][of_b[model] == k].mean(0))
            for k in present
        ]
        anchors = [a for a, _ in pairs] + [b for _, b in pairs]
        n, losses = len(pairs), []
        for i, anchor in enumerate(anchors):
            top = math.exp(cosine(anchor, anchors[(i + n) % (2 * n)]) / 0.4)
            rest = sum(math.exp(cosine(anchor, x) / 0.4) for j, x in enumerate(anchors) if j != i)
            losses.append(-math.log(top / rest))
        assert found[model].item() == pytest.approx(sum(losses) / len(losses), abs=1e-9)


def test_nt_xent_without_a_valid_pair_is_zero_with_zero_gradients() -> None:
    z_i, z_j = (z.requires_grad_() for z in encodings())
    valid = torch.tensor([[False] * 9, [True] * 9])
    loss = nt_xent(z_i, z_j, 0.5, valid)
    loss.sum().backward()
    assert loss[0] == 0
    torch.testing.assert_close(loss[1], nt_xent(z_i, z_j, 0.5)[1])
    assert not z_i.grad[0].any()
    assert z_i.grad[1].isfinite().all()


def calibrate(learner: Any, options: Calibre) -> Calibrated:
    encoder = Remembering(learner.encoder)
    learner.encoder = encoder
    return Calibrated(learner, encoder, options)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_loss_is_the_objectives_plus_the_weighted_regularisers(name: str) -> None:
    losses = {}
    for meta, contrast in ((False, False), (True, False), (False, True), (True, True)):
        learner, state, views = small_learner(name, models=2, batch=9)
        bare: Any = learner
        kept = clone(state)
        options = replace(BOTH, prototype_meta=meta, prototype_contrast=contrast)
        calibrated = calibrate(learner, options)
        losses[meta, contrast] = calibrated.loss(state, learner.memory(state), views, None)
    plain, fresh, _ = small_learner(name, models=2, batch=9)
    torch.testing.assert_close(
        losses[False, False], plain.loss(fresh, plain.memory(fresh), views, None)
    )
    z_a, z_b = (bare.encoder.layer(kept, view, training=True) for view in views)
    h_a, h_b = (bare.projector(kept, z, training=True) for z in (z_a, z_b))
    of_a, of_b, k = clusters(z_a, z_b, 3)
    l_n = 0.3 * prototype_meta(z_a, z_b, of_a, of_b, k, 0.5)
    l_p = 0.3 * prototype_contrast(h_a, h_b, of_a, of_b, k, 0.5)
    torch.testing.assert_close(losses[True, False] - losses[False, False], l_n)
    torch.testing.assert_close(losses[False, True] - losses[False, False], l_p)
    torch.testing.assert_close(losses[True, True] - losses[False, False], l_n + l_p)


def task_with(sizes: tuple[int, ...] = (10, 10, 10), **options: Any) -> Task:
    return replace(
        make_task(sizes, **options),
        objective=SimCLR(projector_widths=(6, 4), temperature=0.5),
        augmentation=Augmentation(crop_scale=(0.5, 1.0)),
    )


def test_the_mean_distance_by_hand() -> None:
    """Unit vectors at ±30° are sin 30° away from their mean; equal ones not at all."""
    angle = torch.tensor([30.0, -30.0]) * math.pi / 180
    spread = torch.stack([angle.cos(), angle.sin()], dim=1)
    streams = [torch.Generator().manual_seed(i) for i in range(2)]
    found = mean_distances([7 * spread, torch.ones(5, 2)], 1, streams)
    assert found.tolist() == pytest.approx([0.5, 0.0], abs=1e-6)


@pytest.mark.parametrize(
    ("floor", "apart", "weights"),
    [
        (0.1, (0.5, 0.1), (6 / 0.5, 10 / 0.1)),  # tight clients weigh more
        (0.1, (0.0, 0.8), (6 / 0.04, 10 / 0.8)),  # a collapsed one at most ten times the mean
        (0.1, (0.0, 0.0), (6, 10)),
        (0.0, (0.001, 0.8), (6 / 0.001, 10 / 0.8)),
    ],
)
def test_clients_are_averaged_by_images_over_divergence_as_numpy_averages(
    floor: float, apart: tuple[float, float], weights: tuple[float, float]
) -> None:
    task, sent = task_with((10, 4, 6)), {"encoder.w": torch.randn(2, 3, 4)}
    divergence = {"divergence": torch.tensor(apart)}
    upload = Message(per_client={"weights": sent, "divergence": divergence})
    now = Round(task, 0, torch.tensor([2, 0]))
    found = Calibre(divergence_floor=floor).aggregate(now, None, upload)["encoder.w"][0]
    expected = np.average(sent["encoder.w"].numpy(), axis=0, weights=weights)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_without_regularisers_clients_train_as_in_pfl_ssl() -> None:
    task, clients = task_with(), torch.arange(3)
    calibre = Calibre(**OPTIONS, prototype_meta=False, prototype_contrast=False)
    uploads = [
        one_round(method, Round(task, 0, clients))[1] for method in (calibre, PFLSSL(**OPTIONS))
    ]
    for name, value in uploads[0].per_client["weights"].items():
        assert torch.equal(value, uploads[1].per_client["weights"][name])
    assert uploads[0].per_client.keys() == {"weights", "divergence"}


def test_clusters_of_encodings_as_they_are_heed_their_length() -> None:
    """One direction, two lengths: by cosine there is nothing to tell apart."""
    z = torch.tensor([1.0, 9.0, 1.1, 9.1])[None, :, None] * torch.tensor([0.6, 0.8])
    of_a, of_b, _ = clusters(z, z, 2, normalised=False)
    assert of_a[0].tolist() == of_b[0].tolist() == [0, 1, 0, 1]
    assert clusters(z, z, 2)[0][0].tolist() == [0, 0, 0, 0]


def test_prototypes_of_encodings_as_they_are_lean_to_the_longer_ones() -> None:
    z_a, z_b = encodings(models=1)
    z_b = z_b * torch.arange(1, 10).view(1, 9, 1)
    of = torch.arange(9)[None] % 3
    v = F.normalize(torch.stack([z_b[0][of[0] == k].mean(0) for k in range(3)]), dim=1)
    expected = F.cross_entropy(F.normalize(z_a[0], dim=1) @ v.T / 0.5, of[0])
    found = prototype_meta(z_a, z_b, of, of, 3, 0.5, normalised=False)
    torch.testing.assert_close(found[0], expected)
    assert abs(float(expected - prototype_meta(z_a, z_b, of, of, 3, 0.5)[0])) > 1e-3


def test_the_mean_distance_by_cluster_counts_a_small_cluster_as_much_as_a_large_one() -> None:
    """Four points at 0 and 2 are 1 away from their centre, ten equal points not at all."""
    far = torch.tensor([[100.0], [100.0], [102.0], [102.0]])
    streams = [torch.Generator().manual_seed(0)]
    z = [torch.cat([far, torch.zeros(10, 1)])]
    by_image = mean_distances(z, 2, streams, normalised=False)
    by_cluster = mean_distances(z, 2, streams, normalised=False, by="cluster")
    assert by_image.item() == pytest.approx(4 / 14)
    assert by_cluster.item() == pytest.approx(1 / 2)
