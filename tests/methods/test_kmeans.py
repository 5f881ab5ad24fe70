import pytest
import torch
import torch.nn.functional as F
from sklearn.cluster import KMeans
from torch import Tensor

from fedrepro.methods.clusters.kmeans import best_kmeans, kmeans, plus_plus


def streams(models: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(i) for i in range(models)]


def points(models: int = 2, n: int = 40) -> Tensor:
    g = torch.Generator().manual_seed(4)
    return torch.randn(models, n, 3, dtype=torch.float64, generator=g)


def first_centres(x: Tensor, model: int, k: int) -> Tensor:
    return x[model][torch.randperm(x.shape[1], generator=streams(model + 1)[model])[:k]].clone()


def test_converged_centres_are_those_of_scikit_learn_from_the_same_start() -> None:
    x = points()
    centres, choice = kmeans(x, 4, streams(2), iterations=100)
    for model in range(2):
        start = first_centres(x, model, 4).numpy()
        theirs = KMeans(4, init=start, n_init=1, tol=0).fit(x[model].numpy())
        torch.testing.assert_close(centres[model], torch.from_numpy(theirs.cluster_centers_))
        assert choice[model].tolist() == theirs.labels_.tolist()


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_spherical_steps_equal_a_plain_loop(iterations: int) -> None:
    x = F.normalize(points(), dim=2)
    centres, choice = kmeans(x, 5, streams(2), iterations, spherical=True)
    for model in range(2):
        own = first_centres(x, model, 5)
        for _ in range(iterations):
            members = [max(range(5), key=lambda k: float(p @ own[k])) for p in x[model]]
            for k in range(5):
                mine = [p for p, member in zip(x[model], members, strict=True) if member == k]
                if mine:
                    mean = torch.stack(mine).mean(0)
                    own[k] = mean / mean.norm()
        torch.testing.assert_close(centres[model], own)
        last = [max(range(5), key=lambda k: float(p @ own[k])) for p in x[model]]
        assert choice[model].tolist() == last


def test_a_centre_that_no_point_chooses_stays_where_it_is() -> None:
    x = torch.tensor([[[0.0], [0.0], [0.0], [9.0]]])
    centres, choice = kmeans(x, 3, streams(1), iterations=5)
    assert sorted(centres[0, :, 0].tolist()) == [0.0, 0.0, 9.0]
    assert centres[0, choice[0], 0].tolist() == [0.0, 0.0, 0.0, 9.0]


def test_fewer_points_than_clusters_are_centres_of_their_own() -> None:
    x = F.normalize(points(1, 3), dim=2)
    centres, choice = kmeans(x, 5, streams(1), spherical=True)
    assert centres.shape == (1, 5, 3)
    assert len(set(choice[0].tolist())) == 3


def test_a_models_clusters_do_not_depend_on_the_others() -> None:
    x = points(3)
    together, _ = kmeans(x, 4, streams(3))
    alone, _ = kmeans(x[2:], 4, streams(3)[2:])
    torch.testing.assert_close(together[2:], alone)


def test_clear_groups_are_found() -> None:
    corners = torch.tensor([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [9.0, 9.0, 9.0]])
    truth = torch.arange(4).repeat(10)
    x = corners[truth] + 0.1 * points(1, 40)[0]
    _, choice = best_kmeans(x[None], 4, streams(1))
    pairs = set(zip(truth.tolist(), choice[0].tolist(), strict=True))
    assert len(pairs) == len({group for group, _ in pairs}) == len({k for _, k in pairs}) == 4


def test_more_restarts_are_never_worse() -> None:
    x = points(6)

    def inertia(restarts: int) -> Tensor:
        centres, choice = best_kmeans(x, 6, streams(6), restarts)
        own = torch.stack([c[k] for c, k in zip(centres, choice, strict=True)])
        return (x - own).square().sum((1, 2))

    once, often = inertia(1), inertia(10)
    assert bool((often <= once).all())
    assert bool((often < once).any())


def test_first_centres_are_points_drawn_by_their_distance() -> None:
    # Two points far out must be taken once the first centre lies in the crowd, or is one of them.
    out = torch.tensor([[100.0, 0.0, 0.0], [0.0, 100.0, 0.0]], dtype=torch.float64)
    x = torch.cat([1e-4 * points(1, 50)[0], out])[None]
    for trial in range(20):
        centres = plus_plus(x, 3, [torch.Generator().manual_seed(trial)])[0]
        assert {tuple(c) for c in centres.tolist() if max(c) > 50} == set(map(tuple, out.tolist()))


def test_best_clusters_do_not_depend_on_the_other_models() -> None:
    x = points(3)
    together, alone = best_kmeans(x, 4, streams(3)), best_kmeans(x[2:], 4, streams(3)[2:])
    torch.testing.assert_close(together[0][2:], alone[0])
    assert torch.equal(together[1][2:], alone[1])


def test_points_that_are_all_alike_are_no_obstacle() -> None:
    centres, _ = best_kmeans(torch.ones(1, 5, 2), 2, streams(1))
    assert torch.equal(centres, torch.ones(1, 2, 2))


def test_k_means_plus_plus_refuses_fewer_points_than_clusters() -> None:
    with pytest.raises(ValueError, match="3 points cannot make 4 clusters"):
        plus_plus(points(1, 3), 4, streams(1))
