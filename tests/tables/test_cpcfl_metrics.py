"""Why CP-CFL's F1 and AUROC are read as pooled: its printed numbers, and a simulation."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch

from fedrepro.benchmark.spec.load import load_paper
from fedrepro.methods.metrics.classification import evaluate

PAPER = load_paper("cpcfl")
CLUSTERED = ("IFCA|None", "IFCA|FedAvg", "CP-CFL|SimCLR")
FEDAVG = ("FedAvg|None", "FedAvg|SimCLR")
GROUPS = ((0, 1, 2, 3), (3, 4, 5, 6), (6, 7, 8, 9))


def trials_of(table: str) -> Mapping[str, np.ndarray]:
    (found,) = (one for one in PAPER.tables if one.id == table)
    rows: dict[str, list[float]] = {}
    for cell in found.cells:
        if cell.trial is not None:
            rows.setdefault("|".join(cell.row), []).append(float(cell.printed.value))
    return {row: np.array(values) for row, values in rows.items()}


def test_what_is_counted_in_the_printed_trials() -> None:
    macro, weighted, accuracy = (trials_of(table) for table in ("B.14", "B.15", "11"))
    assert set(macro) == {*CLUSTERED, *FEDAVG}
    assert sum(int((macro[row] > weighted[row]).sum()) for row in CLUSTERED) == 15
    assert sum(int((macro[row] > weighted[row]).sum()) for row in FEDAVG) == 0
    assert sum(int((100 * weighted[row] < accuracy[row]).sum()) for row in macro) == 25
    ovr, ovr_weighted = trials_of("B.16"), trials_of("B.17")
    assert sum(int((ovr[row] > ovr_weighted[row]).sum()) for row in CLUSTERED) == 15


def simulated(seed: int) -> Mapping[str, float]:
    """60 clients in CP-CFL's three groups, whose models confuse the group's own four classes. Each
    client has 20, 20, 5 and 5 test images of its classes. The classes that two groups share are a
    little harder: else pooled macro and weighted F1 would differ by noise alone."""
    rng = np.random.default_rng(seed)
    predicted, truth = [], []
    for client in range(60):
        own = GROUPS[client % 3]
        labels = np.repeat(own, rng.permutation([20, 20, 5, 5]))
        logits = rng.normal(np.isin(np.arange(10), own) * 6.0, 1.0, (50, 10))
        logits[np.arange(50), labels] += 2.0 - 0.5 * np.isin(labels, (3, 6))
        predicted.append(torch.tensor(logits).softmax(1))
        truth.append(torch.tensor(labels))
    return evaluate(predicted, truth, final=True).metrics


@pytest.mark.parametrize("seed", range(3))
def test_at_the_printed_accuracy_only_pooling_looks_like_the_printed_numbers(seed: int) -> None:
    found = simulated(seed)
    assert 0.76 < found["accuracy"] < 0.80
    # As printed: macro above weighted F1, weighted F1 below accuracy, AUROC about 0.975 and, over
    # classes, higher than by prevalence.
    assert found["f1_macro"] > found["f1_weighted"]
    assert found["f1_weighted"] < found["accuracy"]
    assert found["auroc_ovr_macro"] > 0.97
    assert found["auroc_ovr_macro"] - found["auroc_ovr_weighted"] > 0.002
    # Means over clients have none of this.
    assert found["f1_macro_by_client"] < found["f1_weighted_by_client"] - 0.03
    assert found["f1_weighted_by_client"] > found["accuracy"]
    assert found["auroc_ovr_macro_by_client"] < 0.95


def test_cp_cfl_leads_each_baseline_in_each_printed_trial() -> None:
    accuracy = trials_of("11")
    ahead = [accuracy["CP-CFL|SimCLR"] > accuracy[row] for row in accuracy if "CP" not in row]
    assert np.array(ahead).sum() == 20
