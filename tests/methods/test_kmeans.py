import pytest
import torch
import torch.nn.functional as F
from sklearn.cluster import KMeans
from torch import Tensor

from methods.kmeans import kmeans


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
