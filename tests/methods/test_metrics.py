import math
from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.metrics.balance import pairs
from fedrepro.methods.metrics.cluster_agreement import agreement, clustering_accuracy, silhouette
from fedrepro.methods.metrics.collapse import representation_std
from fedrepro.methods.metrics.false_negatives import expected_ratio, measured_ratio
from fedrepro.methods.metrics.images import relevance
from fedrepro.methods.nn.layers import Flatten, Linear, ReLU, Sequential
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from tests.methods.conftest import Pixels

clients = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12)


@given(clients)
def test_recovery_is_the_best_of_all_one_to_one_matchings(pairs: list[tuple[int, int]]) -> None:
    chosen, group = zip(*pairs, strict=True)
    best = max(
        sum(matching[g] == c for c, g in pairs) / len(pairs) for matching in permutations(range(4))
    )
    assert clustering_accuracy(torch.tensor(chosen), torch.tensor(group)) == best


def test_nmi_and_ari_by_hand() -> None:
    """Six points, clusters of 2 and 4 and classes of 3 and 3; two, one and three points in common.
    Of 15 pairs 7 share a cluster, 6 a class and 4 both, where chance has 7 * 6 / 15."""
    found = agreement(torch.tensor([0, 0, 1, 1, 1, 1]), torch.tensor([0, 0, 0, 1, 1, 1]))
    mutual = math.log(2) / 3 + math.log(1 / 2) / 6 + math.log(3 / 2) / 2
    entropies = math.log(3) / 3 + math.log(3 / 2) * 2 / 3, math.log(2)
    assert found["nmi"] == pytest.approx(2 * mutual / sum(entropies))
    assert found["ari"] == pytest.approx((4 - 2.8) / ((7 + 6) / 2 - 2.8))
    assert found["occupied_clusters"] == 2


def test_a_collapse_is_seen_in_every_measure() -> None:
    truth = torch.arange(4).repeat(5)
    found = agreement(torch.zeros(20, dtype=torch.int64), truth)
    expected = {"clustering_accuracy": 0.25, "nmi": 0.0, "ari": 0.0, "occupied_clusters": 1.0}
    assert found == expected


def test_a_silhouette_by_hand() -> None:
    """Points 0 and 1, 5 and 8: 1 and 3 away from their own, 6.5, 5.5, 4.5 and 7.5 from others."""
    found = silhouette(torch.tensor([[0.0], [1.0], [5.0], [8.0]]), torch.tensor([0, 0, 1, 1]))
    assert found == pytest.approx((5.5 / 6.5 + 4.5 / 5.5 + 1.5 / 4.5 + 4.5 / 7.5) / 4)


def test_even_directions_give_one_and_a_point_gives_zero() -> None:
    h = torch.randn(4000, 64, generator=torch.Generator().manual_seed(0))
    assert representation_std(h) == pytest.approx(1, abs=0.02)
    assert representation_std(torch.ones(50, 8) * torch.rand(50, 1)) == pytest.approx(0, abs=1e-6)


def as_printed(equation: int, classes_of: list[set[int]], client: int, y: int, bank: int) -> float:
    """Eq. 4 or 5: every client has m classes and a bank of the same size."""
    m, local = len(classes_of[client]), equation == 4
    others = [i for i in range(len(classes_of)) if i != client]
    shared = [1 if y in classes_of[i] else 0 for i in others]
    return (local * bank / m + sum(s * bank / m for s in shared)) / (bank * (local + len(others)))


def counts_of(classes_of: list[set[int]], each: int = 6, classes: int = 8) -> torch.Tensor:
    counts = torch.zeros(len(classes_of), classes, dtype=torch.int64)
    for client, own in enumerate(classes_of):
        counts[client, list(own)] = each
    return counts


OVERLAPPING = [{0, 1}, {1, 2}, {0, 1}, {4, 5}]


@pytest.mark.parametrize("number", [4, 5])
def test_the_expected_ratio_is_the_mean_of_equations_4_and_5_over_queries(number: int) -> None:
    ratio = expected_ratio(counts_of(OVERLAPPING), torch.full((4,), 10), number == 4, remote=True)
    for client, own in enumerate(OVERLAPPING):
        expected = sum(as_printed(number, OVERLAPPING, client, y, 10) for y in own) / len(own)
        assert ratio[client].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("clients", "m"), [(2, 1), (4, 2), (5, 3)])
def test_with_disjoint_classes_the_ratio_is_one_over_m_and_clients(clients: int, m: int) -> None:
    classes_of = [set(range(client * m, client * m + m)) for client in range(clients)]
    counts = counts_of(classes_of, classes=clients * m)
    bank = torch.full((clients,), 7)
    closed = {(True, True): 1 / (m * clients), (True, False): 1 / m, (False, True): 0.0}
    for (local, remote), share in closed.items():
        expected = torch.full((clients,), share, dtype=torch.float64)
        torch.testing.assert_close(expected_ratio(counts, bank, local, remote), expected)


def test_the_measured_ratio_is_counted() -> None:
    queries = torch.tensor([[0, 1, 1], [2, 2, 0]])
    negatives = torch.tensor([[0, 0, 1, 2], [2, 2, 2, 1]])
    valid = torch.tensor([[True, True, True, False], [True, True, False, True]])
    ratio = measured_ratio(queries, negatives, 3, valid)
    assert ratio.tolist() == pytest.approx([(2 + 1 + 1) / 9, (2 + 2 + 0) / 9])
    assert measured_ratio(queries, negatives, 3)[0].item() == pytest.approx((2 + 1 + 1) / 12)
    assert bool(measured_ratio(queries, negatives, 3, valid & False).isnan().all())


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


@pytest.mark.parametrize("size", [8, 32, 128])
def test_batches_of_every_size_have_the_pairs_of_what_they_are_drawn_from(size: int) -> None:
    labels, stream = torch.arange(10).repeat(20), torch.Generator().manual_seed(0)
    batches = torch.stack([torch.randperm(200, generator=stream)[:size] for _ in range(400)])
    alike, counted = pairs(labels, batches).sum(0).tolist()
    assert alike / counted == pytest.approx(19 / 199, abs=0.01)


ENCODER = Sequential(Flatten(), Linear("encoder.dense", 16, 6), ReLU())
STATE = ENCODER.new(torch.Generator().manual_seed(0))
SCALE = Pixels().new(torch.Generator())


def noise(n: int, seed: int = 0) -> ImageSet:
    g = torch.Generator().manual_seed(seed)
    return ImageSet(torch.randint(256, (n, 1, 4, 4), generator=g, dtype=torch.uint8))


def test_the_score_equals_a_plain_loop_over_equation_7() -> None:
    a, b = noise(12, seed=1), noise(9, seed=2)
    w, c = STATE["encoder.dense.weight"][0].double(), STATE["encoder.dense.bias"][0].double()
    total = 0.0
    for x in a.images:
        for y in b.images:
            u, v = ((w @ (i.double().flatten() / 255) + c).clamp(min=0) for i in (x, y))
            length = math.sqrt(float((u**2).sum())) * math.sqrt(float((v**2).sum()))
            total += float((u * v).sum()) / length
    score = relevance(ENCODER, STATE, a, b, Seeds(0))
    assert score == pytest.approx(total / (12 * 9), abs=1e-6)


def test_portions_that_overlap_are_scored_on_their_other_pairs() -> None:
    a, b = ImageSet(noise(9).images[:6]), ImageSet(noise(9).images[3:])
    pairs = [
        torch.cosine_similarity(a.images[i].double().flatten(), b.images[j].double().flatten(), 0)
        for i in range(6)
        for j in range(6)
        if i != j + 3
    ]
    assert len(pairs) == 33
    assert relevance(Pixels(), SCALE, a, b, Seeds(0)) == pytest.approx(float(sum(pairs)) / 33)


def test_exactly_n_images_of_each_portion_are_read_and_the_trial_decides_which() -> None:
    seen: list[int] = []

    class Counting(Pixels):
        def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
            seen.append(x.shape[1])
            return super().__call__(state, x, training)

    relevance(Counting(), SCALE, noise(400), noise(50, seed=1), Seeds(0))
    assert seen == [300, 50]
    scores = [relevance(ENCODER, STATE, noise(99), noise(99, 1), Seeds(t), 10) for t in (0, 0, 1)]
    assert scores[0] == scores[1] != scores[2]
