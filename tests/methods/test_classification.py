from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, roc_auc_score

from fedrepro.methods.metrics import fairness
from fedrepro.methods.metrics.classification import (
    AUROC,
    BY_CLIENT,
    F1,
    METRICS,
    Predicted,
    areas,
    auroc,
    evaluate,
    f1,
)
from fedrepro.methods.metrics.fairness import over_clients

# Four images of classes 0, 0, 2, 2 of four; class 1 is predicted once, class 3 never.
LABELS = np.array([0, 0, 2, 2])
PROBABILITIES = np.array(
    [[0.6, 0.1, 0.2, 0.1], [0.2, 0.5, 0.2, 0.1], [0.1, 0.1, 0.7, 0.1], [0.5, 0.1, 0.3, 0.1]]
)


def test_accuracy_is_the_mean_over_clients_not_over_images() -> None:
    right, wrong = torch.tensor([[0.9, 0.1]]), torch.tensor([[0.1, 0.9]] * 3)
    found = evaluate([right, wrong], [torch.tensor([0]), torch.tensor([0, 0, 0])], final=False)
    assert found.metrics == {"accuracy": 0.5}
    assert found.per_client["accuracy"].tolist() == [1.0, 0.0]


def test_accuracies_are_counts_divided_in_double() -> None:
    """Two of three right on two clients whose images come in another order: no step of float32."""
    right, wrong = [0.9, 0.1], [0.1, 0.9]
    mixed = [torch.tensor([right, wrong, right]), torch.tensor([right, right, wrong])]
    found = evaluate(mixed, [torch.zeros(3, dtype=torch.int64)] * 2, final=False)
    assert found.per_client["accuracy"].tolist() == [2 / 3, 2 / 3]
    assert fairness.over_clients(found.per_client["accuracy"])["accuracy"] == 2 / 3


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


@settings(max_examples=30, deadline=None)
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


@settings(max_examples=30, deadline=None)
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


def test_twenty_five_classes_of_which_some_have_one_image() -> None:
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.arange(25), rng.integers(0, 12, 100)])
    scores = rng.dirichlet(np.ones(25), len(labels))
    found = areas(scores, labels, np.zeros_like(labels), 1)
    for name, (value,) in found.items():
        kind, mean = name.split("_")
        expected = roc_auc_score(labels, scores, multi_class=kind, average=mean)
        assert value == pytest.approx(expected, abs=1e-12)


def test_four_accuracies_by_hand() -> None:
    """Mean 0.7; deviations 0.1, 0.1, 0.3, 0.3; mean square 0.05. Calibre's Table I prints an SD of
    0.1058 where its figures have variances of some hundredths."""
    found = over_clients(torch.tensor([0.6, 0.8, 0.4, 1.0]))
    assert found == pytest.approx(
        {"accuracy": 0.7, "accuracy_variance": 0.05, "accuracy_sd": 0.05**0.5}
    )
    of_calibre = over_clients(torch.tensor([0.8916 - 0.1058, 0.8916 + 0.1058]))
    assert of_calibre["accuracy_variance"] == pytest.approx(0.0112, abs=5e-5)


def test_novel_clients_are_the_last_and_do_not_touch_the_others_numbers() -> None:
    training, novel = torch.tensor([0.5, 0.7]), torch.tensor([0.1, 0.2, 0.9])
    found = over_clients(torch.cat([training, novel]), novel=3)
    alone = over_clients(novel)
    assert {name: found[name] for name in alone} == over_clients(training)
    assert {name: found[f"novel_{name}"] for name in alone} == alone
    assert {"accuracy", *fairness.METRICS} - {"classes_per_client"} == set(found)
