from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from fedrepro.methods.metrics.classification import areas, wins


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 5, 10**9]))
def test_wins_are_those_of_counting_every_pair(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    images, classes, clients = rng.integers(1, 40), rng.integers(1, 5), rng.integers(1, 4)
    scores = rng.integers(0, levels, (images, classes)).astype(np.float64)
    labels, owner = rng.integers(0, classes, images), np.sort(rng.integers(0, clients, images))
    expected = np.zeros((clients, classes, classes))
    for i in range(images):
        for j in range(images):
            if owner[i] == owner[j]:
                mine, other = scores[i, labels[i]], scores[j, labels[i]]
                expected[owner[i], labels[i], labels[j]] += (mine > other) + (mine == other) / 2
    assert np.array_equal(wins(scores, labels, owner, clients), expected)


def test_clients_need_not_lie_side_by_side() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.random((60, 3)), rng.integers(0, 3, 60)
    owner = rng.integers(0, 4, 60)
    order = rng.permutation(60)
    assert np.array_equal(
        wins(scores, labels, owner, 4), wins(scores[order], labels[order], owner[order], 4)
    )


def test_twenty_five_classes_of_which_some_have_one_image() -> None:
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.arange(25), rng.integers(0, 12, 100)])
    scores = rng.dirichlet(np.ones(25), len(labels))
    found = areas(scores, labels, np.zeros_like(labels), 1)
    for name, (value,) in found.items():
        kind, mean = name.split("_")
        expected = roc_auc_score(labels, scores, multi_class=kind, average=mean)
        assert value == pytest.approx(expected, abs=1e-12)


def test_scores_in_perfect_order_have_area_one_and_constant_ones_a_half() -> None:
    labels, owner = np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1])
    scores = np.eye(3)[labels]
    scores[3:] = 1 / 3
    for values in areas(scores, labels, owner, 2).values():
        assert values.tolist() == [1.0, 0.5]
