import math
from collections import Counter
from itertools import combinations, permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.metrics.cluster_agreement import agreement, clustering_accuracy, silhouette
from fedrepro.methods.metrics.collapse import representation_std
from fedrepro.methods.metrics.false_negatives import expected_ratio, measured_ratio
from fedrepro.methods.metrics.images import relevance
from fedrepro.methods.nn.layers import Flatten, Layer, Linear, ReLU, Sequential
from fedrepro.methods.seeds import Seeds

clients = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12)


@given(clients)
def test_recovery_is_the_best_of_all_one_to_one_matchings(pairs: list[tuple[int, int]]) -> None:
    chosen, group = zip(*pairs, strict=True)
    best = max(
        sum(matching[g] == c for c, g in pairs) / len(pairs) for matching in permutations(range(4))
    )
    assert clustering_accuracy(torch.tensor(chosen), torch.tensor(group)) == best


def by_definition(chosen: list[int], truth: list[int]) -> tuple[float, float]:
    """NMI from counts, and ARI from all pairs of points (Hubert and Arabie 1985)."""
    n = len(chosen)

    def entropy(labels: list[int]) -> float:
        return -sum(k / n * math.log(k / n) for k in Counter(labels).values())

    joint = Counter(zip(chosen, truth, strict=True))
    a, b = Counter(chosen), Counter(truth)
    mutual = sum(k / n * math.log(k * n / (a[c] * b[t])) for (c, t), k in joint.items())
    both = same_a = same_b = 0
    for i, j in combinations(range(n), 2):
        in_a, in_b = chosen[i] == chosen[j], truth[i] == truth[j]
        both, same_a, same_b = both + (in_a and in_b), same_a + in_a, same_b + in_b
    chance = same_a * same_b / math.comb(n, 2)
    ari = (both - chance) / ((same_a + same_b) / 2 - chance)
    return 2 * mutual / (entropy(chosen) + entropy(truth)), ari


def test_nmi_and_ari_are_those_of_their_definitions() -> None:
    generator = torch.Generator().manual_seed(0)
    for clusters in (2, 3, 5):
        chosen = torch.randint(0, clusters, (40,), generator=generator)
        truth = (chosen + torch.randint(0, 2, (40,), generator=generator)) % 3
        found = agreement(chosen, truth)
        nmi, ari = by_definition(chosen.tolist(), truth.tolist())
        assert found["nmi"] == pytest.approx(nmi)
        assert found["ari"] == pytest.approx(ari)
        assert found["occupied_clusters"] == len(set(chosen.tolist()))


def test_a_collapse_is_seen_in_every_measure() -> None:
    truth = torch.arange(4).repeat(5)
    found = agreement(torch.zeros(20, dtype=torch.int64), truth)
    expected = {"clustering_accuracy": 0.25, "nmi": 0.0, "ari": 0.0, "occupied_clusters": 1.0}
    assert found == expected


def test_silhouette_is_the_mean_over_points_of_the_definition() -> None:
    h = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    groups = torch.arange(12) % 3
    expected = 0.0
    for i in range(12):
        away = (h - h[i]).norm(dim=1)
        own = away[(groups == groups[i]) & (torch.arange(12) != i)].mean()
        other = min(away[groups == g].mean() for g in range(3) if g != groups[i])
        expected += float((other - own) / max(own, other)) / 12
    assert silhouette(h, groups) == pytest.approx(expected, abs=1e-6)


def test_even_directions_give_one_and_a_point_gives_zero() -> None:
    h = torch.randn(4000, 64, generator=torch.Generator().manual_seed(0))
    assert representation_std(h) == pytest.approx(1, abs=0.02)
    assert representation_std(torch.ones(50, 8) * torch.rand(50, 1)) == pytest.approx(0, abs=1e-6)


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


ENCODER = Sequential(Flatten(), Linear("encoder.dense", 16, 6), ReLU())
STATE = ENCODER.new(torch.Generator().manual_seed(0))


class Pixels(Layer):
    """Represents an image by its own pixels."""

    def __call__(self, state: dict[str, Tensor], x: Tensor, training: bool = False) -> Tensor:
        return x.flatten(2)


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


def test_a_pair_of_identical_images_is_left_out() -> None:
    axes = torch.eye(4, dtype=torch.uint8).reshape(4, 1, 2, 2)
    assert relevance(Pixels(), {}, ImageSet(axes), ImageSet(axes), Seeds(0)) == 0.0
    twice = ImageSet(axes[:1] * 255)
    assert relevance(Pixels(), {}, ImageSet(axes[:1]), twice, Seeds(0)) == pytest.approx(1.0)


def test_portions_that_overlap_are_scored_on_their_other_pairs() -> None:
    a, b = ImageSet(noise(9).images[:6]), ImageSet(noise(9).images[3:])
    pairs = [
        torch.cosine_similarity(a.images[i].double().flatten(), b.images[j].double().flatten(), 0)
        for i in range(6)
        for j in range(6)
        if i != j + 3
    ]
    assert len(pairs) == 33
    assert relevance(Pixels(), {}, a, b, Seeds(0)) == pytest.approx(float(sum(pairs)) / 33)


def test_exactly_n_images_of_each_portion_are_read() -> None:
    seen: list[int] = []

    class Counting(Pixels):
        def __call__(self, state: dict[str, Tensor], x: Tensor, training: bool = False) -> Tensor:
            seen.append(x.shape[1])
            return super().__call__(state, x, training)

    relevance(Counting(), {}, noise(400), noise(50, seed=1), Seeds(0))
    assert seen == [300, 50]


def test_the_trial_decides_the_sample() -> None:
    a, b = noise(100), noise(100, seed=1)
    scores = [relevance(ENCODER, STATE, a, b, Seeds(trial), n=10) for trial in (0, 0, 1)]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]


def test_nothing_but_identical_images_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one pair of different images"):
        relevance(ENCODER, STATE, noise(1), noise(1), Seeds(0))
