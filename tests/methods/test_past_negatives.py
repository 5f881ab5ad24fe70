"""FedPNP's pool of negatives and loss against plain loops and a batch made by hand."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.objectives._soft_clusters import cluster_contrast
from fedrepro.methods.objectives.past_negatives import (
    KNOWN,
    PastNegatives,
    PastNegativesLearner,
    negative_pool,
    pnp_contrast,
    similarity,
)
from fedrepro.methods.objectives.simclr import nt_xent
from fedrepro.methods.state import repeat


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def soft_labels(*shape: int, seed: int = 0) -> Tensor:
    return torch.softmax(2 * draw(*shape, seed=seed), dim=-1)


def test_similarity_is_the_gaussian_of_the_distance() -> None:
    u, v = soft_labels(2, 3, 4), soft_labels(2, 5, 4, seed=1)
    s = similarity(u, v)
    assert s.shape == (2, 3, 5)
    for m, i, j in ((0, 0, 0), (1, 2, 4), (0, 1, 3)):
        squared = float(((u[m, i] - v[m, j]) ** 2).sum())
        assert float(s[m, i, j]) == pytest.approx(math.exp(-squared / 2))


def test_for_hard_labels_it_is_the_printed_similarity_over_its_largest_value() -> None:
    hard = torch.eye(3)[None]
    torch.testing.assert_close(similarity(hard, hard), torch.exp(hard @ hard.mT) / math.e)


def test_images_that_are_alike_in_either_view_are_no_negatives() -> None:
    # Labels of view a: 0, 0, 1, 1. Of view b: 0, 1, 0, 1.
    y_a = torch.eye(2)[torch.tensor([0, 0, 1, 1])][None]
    y_b = torch.eye(2)[torch.tensor([0, 1, 0, 1])][None]
    pool = negative_pool(y_a, y_b, threshold=0.999)[0]
    # Anchor 0 (label 0): image 1 is alike in view a, image 2 in view b, image 3 in neither.
    assert pool[0].tolist() == [False, False, False, True]
    # Anchor 2 (label 1): image 3 is alike in both views, image 1 in view b, image 0 in neither.
    assert pool[2].tolist() == [True, False, False, False]


def test_a_threshold_above_one_makes_all_others_negatives() -> None:
    z_a, z_b = draw(2, 6, 4), draw(2, 6, 4, seed=1)
    y_a, y_b = soft_labels(2, 6, 3), soft_labels(2, 6, 3, seed=1)
    found = pnp_contrast(z_a, z_b, y_a, y_b, 0.5, threshold=1.1)
    torch.testing.assert_close(found, nt_xent(z_a, z_b, 0.5))


def test_the_loss_is_the_loop_over_the_equation() -> None:
    z_a, z_b = draw(2, 6, 4), draw(2, 6, 4, seed=1)
    y_a, y_b = soft_labels(2, 6, 3), soft_labels(2, 6, 3, seed=1)
    tau, mu = 0.5, 0.9
    found = pnp_contrast(z_a, z_b, y_a, y_b, tau, mu)
    sizes = set()
    for m in range(2):
        expected = 0.0
        for own, other, y, y_o in ((z_a, z_b, y_a, y_b), (z_b, z_a, y_b, y_a)):
            for i in range(6):

                def gauss(j: int, labels: Tensor, i: int = i, y: Tensor = y, m: int = m) -> float:
                    return math.exp(-float(((y[m, i] - labels[m, j]) ** 2).sum()) / 2)

                def s(v: Tensor, i: int = i, own: Tensor = own, m: int = m) -> float:
                    return math.exp(float(F.cosine_similarity(own[m, i], v, dim=0)) / tau)

                others = [j for j in range(6) if j != i]
                pool = [j for j in others if max(gauss(j, y), gauss(j, y_o)) < mu] or others
                sizes.add(len(pool))
                positive = s(other[m, i])
                negatives = sum(s(own[m, j]) + s(other[m, j]) for j in pool)
                expected -= math.log(positive / (positive + negatives)) / 12
        assert float(found[m]) == pytest.approx(expected)
    assert len(sizes) > 2


def test_an_anchor_without_a_negative_repels_all_others() -> None:
    # Images 0 to 2 are labelled alike; image 3 differs and is the only negative that they have.
    y = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    assert negative_pool(y, y, 0.999)[0, 0].tolist() == [False, False, False, True]
    same = torch.full((1, 4, 2), 0.5, dtype=torch.float64)
    assert negative_pool(same, same, 0.999).sum().item() == 4 * 3
    z_a, z_b = draw(1, 4, 3), draw(1, 4, 3, seed=1)
    torch.testing.assert_close(
        pnp_contrast(z_a, z_b, same, same, 0.5, 0.999), nt_xent(z_a, z_b, 0.5)
    )


@pytest.fixture
def learner() -> PastNegativesLearner:
    options = PastNegatives(
        projector_widths=(6, 4), temperature=0.5, negative_threshold=0.99, cluster_weight=0.25
    )
    return options.build(CNN(widths=(3,), dim=5, padding=1).build(1, 6), 5, 3)


def test_the_first_round_chooses_by_the_current_model_and_later_ones_by_the_past(
    learner: PastNegativesLearner,
) -> None:
    state = repeat(learner.new(torch.Generator().manual_seed(0)), 2)
    past = repeat(learner.new(torch.Generator().manual_seed(1)), 2)
    views = [torch.rand(2, 5, 1, 6, 6, generator=torch.Generator().manual_seed(k)) for k in (2, 3)]
    memory = {**learner.memory(past), KNOWN: torch.tensor([False, True])}

    z_a, z_b, c_a, c_b = learner.both_heads(state, views)
    labels_of_past = [
        torch.softmax(learner.head(past, learner.encoder(past, x)), dim=2) for x in views
    ]
    clusters = cluster_contrast(c_a, c_b, 1.0)
    by_current = pnp_contrast(z_a, z_b, c_a, c_b, 0.5, 0.99) + 2.0 * clusters
    by_past = pnp_contrast(z_a, z_b, *labels_of_past, 0.5, 0.99) + 0.25 * clusters
    found = learner.loss(state, memory, views, None)
    torch.testing.assert_close(found, torch.stack([by_current[0], by_past[1]]))
    assert abs(float(by_past[1] - by_current[1])) > 1e-3


def test_a_new_client_has_no_past(learner: PastNegativesLearner) -> None:
    state = learner.new(torch.Generator().manual_seed(0))
    assert learner.memory(state)[KNOWN].tolist() == [False]
