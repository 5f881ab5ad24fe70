from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, roc_auc_score

from fedrepro.methods.metrics.classification import (
    AUROC,
    BY_CLIENT,
    F1,
    METRICS,
    Predicted,
    auroc,
    evaluate,
    f1,
)

# Four images of classes 0, 0, 2, 2 of four; class 1 is predicted once, class 3 never.
LABELS = np.array([0, 0, 2, 2])
PROBABILITIES = np.array(
    [[0.6, 0.1, 0.2, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.1, 0.7, 0.1], [0.5, 0.1, 0.3, 0.1]]
)


def of_one(metric: Callable[[Predicted], dict[str, np.ndarray]], p, y) -> dict[str, float]:
    """`metric` of a single client."""
    found = metric(Predicted.of([torch.tensor(p)], [torch.tensor(y)]))
    return {name: value for name, (value,) in found.items()}


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
    found = of_one(f1, PROBABILITIES, LABELS)
    assert found["f1_macro"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found["f1_weighted"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    uneven = of_one(f1, PROBABILITIES[[0, 1, 2]], LABELS[[0, 1, 2]])
    # Class 0: precision 1, recall 1/2, F1 2/3, two images. Class 2: F1 1, one image.
    assert uneven["f1_macro"] == pytest.approx((2 / 3 + 1) / 2)
    assert uneven["f1_weighted"] == pytest.approx((2 * 2 / 3 + 1) / 3)


def test_a_class_that_is_never_predicted_has_f1_zero() -> None:
    found = of_one(f1, [[0.9, 0.1], [0.8, 0.2]], [0, 1])
    assert found["f1_macro"] == pytest.approx((2 / 3 + 0) / 2)


def test_auroc_of_two_present_classes_is_binary_by_hand() -> None:
    # Mass of class 2 among 0 and 2: 1/4, 1/2 for class 0; 7/8, 3/8 for class 2:
    # three of four pairs are in order.
    assert of_one(auroc, PROBABILITIES, LABELS) == pytest.approx(dict.fromkeys(AUROC, 0.75))


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
    assert of_one(auroc, probabilities, labels) == pytest.approx(
        {
            "auroc_ovr_macro": sum(ovr.values()) / 4,
            "auroc_ovr_weighted": sum(share[c] * ovr[c] for c in present),
            "auroc_ovo_macro": sum(ovo) / 6,
            "auroc_ovo_weighted": np.average(ovo, weights=weight),
        }
    )


def test_images_without_mass_on_present_classes_are_ties() -> None:
    probabilities = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    assert of_one(auroc, probabilities, [0, 1])["auroc_ovr_macro"] == 0.5


def test_clients_of_a_single_class_are_left_out_of_auroc_and_counted() -> None:
    p, y = torch.tensor(PROBABILITIES), torch.tensor(LABELS)
    found = evaluate([p, p[:2]], [y, y[:2]], final=True)
    assert set(found.metrics) == set(METRICS)
    assert found.metrics["auroc_ovr_macro_by_client"] == pytest.approx(0.75)
    assert found.metrics["accuracy"] == 0.5
    assert found.counts["undefined_auroc"] == 1


def test_a_metric_that_no_client_defines_is_left_out() -> None:
    p = torch.tensor([[0.9, 0.1]])
    found = evaluate([p], [torch.tensor([0])], final=True)
    assert set(found.metrics) == {"accuracy", *F1, *(name + BY_CLIENT for name in F1)}
    assert found.counts["undefined_auroc"] == 1


def by_scikit_learn(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The metrics of one client, with the library's own functions on the classes that it has."""
    present = np.unique(labels)
    found = {
        f"f1_{mean}": f1_score(
            labels, probabilities.argmax(1), labels=present, average=mean, zero_division=0
        )
        for mean in ("macro", "weighted")
    }
    mass = probabilities[:, present].astype(np.float64)
    mass[mass.sum(1) == 0] = 1.0
    mass /= mass.sum(1, keepdims=True)
    if len(present) == 2:
        found |= dict.fromkeys(AUROC, roc_auc_score(labels == present[1], mass[:, 1]))
    if len(present) > 2:
        found |= {
            f"auroc_{kind}_{mean}": roc_auc_score(
                labels, mass, multi_class=kind, average=mean, labels=present
            )
            for kind in ("ovr", "ovo")
            for mean in ("macro", "weighted")
        }
    return found


@st.composite
def federations(draw: st.DrawFn) -> Sequence[tuple[np.ndarray, np.ndarray]]:
    """Probabilities and labels of a few clients: many ties, missing classes, single images."""
    classes = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([2, 4, 1000]))
    clients = []
    for images in draw(st.lists(st.integers(1, 25), min_size=1, max_size=4)):
        own = rng.choice(classes, rng.integers(1, classes + 1), replace=False)
        raw = rng.integers(0, levels, (images, classes)) / 64 + 1e-3 * rng.integers(0, 2)
        p = raw / np.maximum(raw.sum(1, keepdims=True), 1e-9)
        clients.append((p.astype(np.float32), rng.choice(own, images)))
    return clients


@given(federations())
def test_all_clients_at_once_have_scikit_learns_values(
    clients: Sequence[tuple[np.ndarray, np.ndarray]],
) -> None:
    p, y = zip(*clients, strict=True)
    tests = Predicted.of(list(map(torch.tensor, p)), list(map(torch.tensor, y)))
    found = {**f1(tests), **auroc(tests)}
    for client, own in enumerate(clients):
        expected = by_scikit_learn(*own)
        for name, values in found.items():
            assert values[client] == pytest.approx(
                expected.get(name, np.nan), abs=1e-12, nan_ok=True
            ), name


@given(federations(), st.data())
def test_pooled_metrics_are_scikit_learns_of_all_predictions_together(
    clients: Sequence[tuple[np.ndarray, np.ndarray]], data: st.DataObject
) -> None:
    # Some clients share one tensor, as those of one model and one test set do.
    chosen = data.draw(st.lists(st.integers(0, len(clients) - 1), min_size=1, max_size=6))
    tensors = [(torch.tensor(p), torch.tensor(y)) for p, y in clients]
    found = evaluate([tensors[i][0] for i in chosen], [tensors[i][1] for i in chosen], final=True)
    p, y = (np.concatenate([clients[i][part] for i in chosen]) for part in (0, 1))
    expected = by_scikit_learn(p, y)
    assert {name for name in (*F1, *AUROC) if name in found.metrics} == set(expected)
    for name, value in expected.items():
        assert found.metrics[name] == pytest.approx(value, abs=1e-12), name
    each = [by_scikit_learn(*clients[i]) for i in chosen]
    for name in (*F1, *AUROC):
        values = [own[name] for own in each if name in own]
        mean = float(np.mean(values)) if values else None
        assert found.metrics.get(name + BY_CLIENT) == pytest.approx(mean, abs=1e-12), name


def test_pooled_and_by_client_are_two_numbers() -> None:
    # Client 1 has class 0 alone and names it; client 2 has class 1 alone and names class 0 twice of
    # three. By client: F1 1 and 1/2. Pooled: class 0 1 hit, 1 image, named 3 times, F1 1/2; class 1
    # 1 hit, 3 images, named once, F1 1/2.
    right, wrong = [0.9, 0.1], [0.2, 0.8]
    found = evaluate(
        [torch.tensor([right]), torch.tensor([right, right, wrong])],
        [torch.tensor([0]), torch.tensor([1, 1, 1])],
        final=True,
    )
    assert found.metrics["f1_macro"] == pytest.approx(1 / 2)
    assert found.metrics["f1_macro_by_client"] == pytest.approx((1 + 1 / 2) / 2)
    # Neither client has two classes; together the three pairs are two ties and one in order.
    assert found.metrics["auroc_ovr_macro"] == pytest.approx(2 / 3)
    assert "auroc_ovr_macro_by_client" not in found.metrics
    assert found.counts["undefined_auroc"] == 2


def test_clients_that_share_predictions_are_ranked_once() -> None:
    rng = np.random.default_rng(0)
    p, y = torch.tensor(rng.dirichlet(np.ones(5), 40)), torch.tensor(rng.integers(0, 5, 40))
    many = Predicted.of([p] * 30, [y.clone() for _ in range(30)])
    assert (many.clients, len(many.labels)) == (1, 40)
    one, shared = evaluate([p], [y], final=True), evaluate([p] * 30, [y] * 30, final=True)
    assert shared.metrics == pytest.approx(dict(one.metrics))
    assert len(shared.per_client["accuracy"]) == 30


def test_one_tensor_of_predictions_with_two_truths_is_refused() -> None:
    p = torch.tensor(PROBABILITIES)
    with pytest.raises(ValueError, match="different labels"):
        evaluate([p, p], [torch.tensor([0, 0, 2, 2]), torch.tensor([0, 0, 2, 1])], final=True)
