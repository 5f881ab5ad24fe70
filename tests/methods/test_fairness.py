from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.methods.metrics.fairness import METRICS, over_clients


def test_four_accuracies_by_hand() -> None:
    """Mean 0.7; deviations 0.1, 0.1, 0.3, 0.3; mean square 0.05."""
    found = over_clients(torch.tensor([0.6, 0.8, 0.4, 1.0]))
    assert found == pytest.approx(
        {"accuracy": 0.7, "accuracy_variance": 0.05, "accuracy_sd": 0.05**0.5}
    )


def test_table_1s_standard_deviation_is_a_variance_of_some_hundredths() -> None:
    spread = torch.tensor([0.8916 - 0.1058, 0.8916 + 0.1058])
    found = over_clients(spread)
    assert found["accuracy_sd"] == pytest.approx(0.1058)
    assert found["accuracy_variance"] == pytest.approx(0.0112, abs=5e-5)


def test_novel_clients_are_the_last_and_do_not_touch_the_others_numbers() -> None:
    training, novel = torch.tensor([0.5, 0.7]), torch.tensor([0.1, 0.2, 0.9])
    found = over_clients(torch.cat([training, novel]), novel=3)
    alone = over_clients(novel)
    assert {name: found[name] for name in alone} == over_clients(training)
    assert {name: found[f"novel_{name}"] for name in alone} == alone
    assert {"accuracy", *METRICS} - {"classes_per_client"} == set(found)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_it_is_numpys_population_variance(values: list[float]) -> None:
    found = over_clients(torch.tensor(values, dtype=torch.float64))
    assert found["accuracy_variance"] == pytest.approx(float(np.var(values)), abs=1e-12)
    assert found["accuracy_sd"] == pytest.approx(float(np.std(values)), abs=1e-9)
