from itertools import permutations

import torch
from hypothesis import given
from hypothesis import strategies as st

from methods.metrics.clustering import cluster_recovery

clients = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12)


@given(clients)
def test_recovery_is_the_best_of_all_one_to_one_matchings(pairs: list[tuple[int, int]]) -> None:
    chosen, group = zip(*pairs, strict=True)
    best = max(
        sum(matching[g] == c for c, g in pairs) / len(pairs) for matching in permutations(range(4))
    )
    assert cluster_recovery(torch.tensor(chosen), torch.tensor(group)) == best


def test_names_of_clusters_do_not_matter() -> None:
    group = torch.tensor([0, 0, 1, 1, 2, 2])
    assert cluster_recovery(torch.tensor([2, 2, 0, 0, 1, 1]), group) == 1.0


def test_one_model_for_all_recovers_only_the_largest_group() -> None:
    assert cluster_recovery(torch.tensor([1, 1, 1, 1]), torch.tensor([0, 0, 0, 1])) == 0.75
