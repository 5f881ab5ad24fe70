from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from methods.metrics.classification import AUROC, METRICS, auroc, evaluate, f1

# Four images of classes 0, 0, 2, 2 of four; class 1 is predicted once, class 3 never.
LABELS = np.array([0, 0, 2, 2])
PROBABILITIES = np.array(
    [[0.6, 0.1, 0.2, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.1, 0.7, 0.1], [0.5, 0.1, 0.3, 0.1]]
)


def pairs(positive: np.ndarray, negative: np.ndarray) -> float:
    """AUROC as it is defined: how often a positive scores above a negative, ties half."""
    wins = [float(p > n) + 0.5 * float(p == n) for p in positive for n in negative]
    return sum(wins) / len(wins)


def test_accuracy_is_the_mean_over_clients_not_over_images() -> None:
    right, wrong = torch.tensor([[0.9, 0.1]]), torch.tensor([[0.1, 0.9]] * 3)
    found = evaluate([right, wrong], [torch.tensor([0]), torch.tensor([0, 0, 0])], final=False)
    assert found.metrics == {"accuracy": 0.5}
    assert found.per_client["accuracy"].tolist() == [1.0, 0.0]


def test_f1_by_hand_over_the_classes_present() -> None:
    # Class 0: predicted twice, once rightly, of two: precision 1/2, recall 1/2, F1 1/2.
    # Class 2: predicted once, rightly, of two: precision 1, recall 1/2, F1 2/3.
    found = f1(PROBABILITIES, LABELS)
    assert found["f1_macro"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found["f1_weighted"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    uneven = f1(PROBABILITIES[[0, 1, 2]], LABELS[[0, 1, 2]])
    # Class 0: precision 1, recall 1/2, F1 2/3, two images. Class 2: F1 1, one image.
    assert uneven["f1_macro"] == pytest.approx((2 / 3 + 1) / 2)
    assert uneven["f1_weighted"] == pytest.approx((2 * 2 / 3 + 1) / 3)


def test_a_class_that_is_never_predicted_has_f1_zero() -> None:
    assert f1(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 1]))["f1_macro"] == pytest.approx(
        (2 / 3 + 0) / 2
    )


def test_auroc_of_two_present_classes_is_binary_by_hand() -> None:
    # Mass of class 2 among 0 and 2: 1/4, 1/2 for class 0; 7/8, 3/8 for class 2:
    # three of four pairs are in order.
    assert auroc(PROBABILITIES, LABELS) == pytest.approx(dict.fromkeys(AUROC, 0.75))


def test_auroc_of_many_classes_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    labels = np.array([1] * 7 + [4] * 5 + [5] * 2 + [8] * 9)
    probabilities = rng.dirichlet(np.ones(10), len(labels)).round(2) + 0.01
    probabilities /= probabilities.sum(1, keepdims=True)
    present = [1, 4, 5, 8]
    mass = probabilities[:, present] / probabilities[:, present].sum(1, keepdims=True)
    column = {c: mass[:, i] for i, c in enumerate(present)}
    share = {c: float((labels == c).mean()) for c in present}
    ovr = {c: pairs(column[c][labels == c], column[c][labels != c]) for c in present}
    ovo, weight = [], []
    for a, b in itertools.combinations(present, 2):
        ab = pairs(column[a][labels == a], column[a][labels == b])
        ba = pairs(column[b][labels == b], column[b][labels == a])
        ovo.append((ab + ba) / 2)
        weight.append(share[a] + share[b])
    assert auroc(probabilities, labels) == pytest.approx(
        {
            "auroc_ovr_macro": sum(ovr.values()) / 4,
            "auroc_ovr_weighted": sum(share[c] * ovr[c] for c in present),
            "auroc_ovo_macro": sum(ovo) / 6,
            "auroc_ovo_weighted": np.average(ovo, weights=weight),
        }
    )


def test_images_without_mass_on_present_classes_are_ties() -> None:
    probabilities = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    assert auroc(probabilities, np.array([0, 1]))["auroc_ovr_macro"] == 0.5


def test_clients_of_a_single_class_are_left_out_of_auroc_and_counted() -> None:
    p, y = torch.tensor(PROBABILITIES), torch.tensor(LABELS)
    found = evaluate([p, p[:2]], [y, y[:2]], final=True)
    assert set(found.metrics) == set(METRICS)
    assert found.metrics["auroc_ovr_macro"] == pytest.approx(0.75)
    assert found.metrics["accuracy"] == 0.5
    assert found.counts["undefined_auroc"] == 1


def test_a_metric_that_no_client_defines_is_left_out() -> None:
    p = torch.tensor([[0.9, 0.1]])
    found = evaluate([p], [torch.tensor([0])], final=True)
    assert set(found.metrics) == {"accuracy", "f1_macro", "f1_weighted"}
    assert found.counts["undefined_auroc"] == 1
