import math

import pytest
import torch

from fedrepro.methods.metrics.false_negatives import expected_ratio, measured_ratio


def equation_4(classes_of: list[set[int]], client: int, y: int, bank: int) -> float:
    """As printed: every client has m classes and a bank of the same size."""
    m = len(classes_of[client])
    others = [i for i in range(len(classes_of)) if i != client]
    shared = [1 if y in classes_of[i] else 0 for i in others]
    return (bank / m + sum(s * bank / m for s in shared)) / (bank + bank * len(others))


def equation_5(classes_of: list[set[int]], client: int, y: int, bank: int) -> float:
    m = len(classes_of[client])
    others = [i for i in range(len(classes_of)) if i != client]
    shared = [1 if y in classes_of[i] else 0 for i in others]
    return sum(s * bank / m for s in shared) / (bank * len(others))


def counts_of(classes_of: list[set[int]], each: int = 6, classes: int = 8) -> torch.Tensor:
    counts = torch.zeros(len(classes_of), classes, dtype=torch.int64)
    for client, own in enumerate(classes_of):
        counts[client, list(own)] = each
    return counts


OVERLAPPING = [{0, 1}, {1, 2}, {0, 1}, {4, 5}]


@pytest.mark.parametrize(("local", "equation"), [(True, equation_4), (False, equation_5)])
def test_the_expected_ratio_is_the_mean_of_equations_4_and_5_over_queries(local, equation) -> None:  # type: ignore[no-untyped-def]
    ratio = expected_ratio(counts_of(OVERLAPPING), torch.full((4,), 10), local, remote=True)
    for client, own in enumerate(OVERLAPPING):
        expected = sum(equation(OVERLAPPING, client, y, 10) for y in own) / len(own)
        assert ratio[client].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("clients", "m"), [(2, 1), (4, 2), (5, 3)])
def test_with_disjoint_classes_the_ratio_is_one_over_m_and_clients(clients: int, m: int) -> None:
    classes_of = [set(range(client * m, client * m + m)) for client in range(clients)]
    counts = counts_of(classes_of, classes=clients * m)
    bank = torch.full((clients,), 7)
    closed = torch.full((clients,), 1 / (m * clients), dtype=torch.float64)
    torch.testing.assert_close(expected_ratio(counts, bank, local=True, remote=True), closed)
    alone = torch.full((clients,), 1 / m, dtype=torch.float64)
    torch.testing.assert_close(expected_ratio(counts, bank, local=True, remote=False), alone)
    none = torch.zeros(clients, dtype=torch.float64)
    torch.testing.assert_close(expected_ratio(counts, bank, local=False, remote=True), none)


def test_fusion_never_raises_the_ratio_where_clients_have_equally_many_classes() -> None:
    """Section 4.1: Eq. 5 is at most Eq. 4, which is at most 1 / m."""
    bank = torch.full((4,), 10)
    counts = counts_of(OVERLAPPING)
    remote, both, local = (
        expected_ratio(counts, bank, a, b) for a, b in ((False, True), (True, True), (True, False))
    )
    assert bool((remote <= both + 1e-12).all())
    assert bool((both <= local + 1e-12).all())
    assert local.tolist() == pytest.approx([0.5] * 4)


def test_the_measured_ratio_is_counted() -> None:
    queries = torch.tensor([[0, 1, 1], [2, 2, 0]])
    negatives = torch.tensor([[0, 0, 1, 2], [2, 2, 2, 1]])
    valid = torch.tensor([[True, True, True, False], [True, True, False, True]])
    ratio = measured_ratio(queries, negatives, 3, valid)
    assert ratio.tolist() == pytest.approx([(2 + 1 + 1) / 9, (2 + 2 + 0) / 9])
    assert measured_ratio(queries, negatives, 3)[0].item() == pytest.approx((2 + 1 + 1) / 12)


def test_without_negatives_there_is_no_ratio() -> None:
    one = torch.zeros(1, 3, dtype=torch.int64)
    assert math.isnan(measured_ratio(one, one, 2, torch.zeros(1, 3, dtype=torch.bool)).item())


def test_the_measured_ratio_of_random_banks_comes_to_the_expected_one() -> None:
    stream = torch.Generator().manual_seed(0)
    counts = torch.tensor([[10, 30, 0, 0], [5, 5, 20, 10]])
    labels = [torch.repeat_interleave(torch.arange(4), row) for row in counts]
    found = []
    for _ in range(400):
        own, other = (y[torch.randint(len(y), (20,), generator=stream)] for y in labels)
        queries = labels[0][torch.randint(40, (8,), generator=stream)]
        found.append(measured_ratio(queries[None], torch.cat([own, other])[None], 4))
    expected = expected_ratio(counts, torch.tensor([20, 20]), local=True, remote=True)[0]
    assert float(torch.stack(found).mean()) == pytest.approx(float(expected), abs=0.01)
