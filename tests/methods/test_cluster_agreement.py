import math
from collections import Counter
from itertools import combinations, permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.methods.metrics.cluster_agreement import agreement, clustering_accuracy, silhouette

clients = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12)


@given(clients)
def test_recovery_is_the_best_of_all_one_to_one_matchings(pairs: list[tuple[int, int]]) -> None:
    chosen, group = zip(*pairs, strict=True)
    best = max(
        sum(matching[g] == c for c, g in pairs) / len(pairs) for matching in permutations(range(4))
    )
    assert clustering_accuracy(torch.tensor(chosen), torch.tensor(group)) == best


def test_names_of_clusters_do_not_matter() -> None:
    group = torch.tensor([0, 0, 1, 1, 2, 2])
    assert clustering_accuracy(torch.tensor([2, 2, 0, 0, 1, 1]), group) == 1.0


def test_one_model_for_all_recovers_only_the_largest_group() -> None:
    assert clustering_accuracy(torch.tensor([1, 1, 1, 1]), torch.tensor([0, 0, 0, 1])) == 0.75


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
