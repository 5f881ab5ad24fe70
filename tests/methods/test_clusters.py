import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from torch import Tensor

from fedrepro.methods.clusters.balanced_clustering import assignments, balanced_centroids, sinkhorn
from fedrepro.methods.clusters.kmeans import best_kmeans, kmeans, plus_plus
from tests.whole_torchvision import ensure_torchvision


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


def test_points_that_are_all_alike_are_no_obstacle() -> None:
    centres, _ = best_kmeans(torch.ones(1, 5, 2), 2, streams(1))
    assert torch.equal(centres, torch.ones(1, 2, 2))


def blobs(per: int) -> torch.Tensor:
    stream = torch.Generator().manual_seed(0)
    axes = torch.eye(4)[:3]
    noise = 0.05 * torch.randn(3, per, 4, generator=stream)
    return F.normalize((axes[:, None] + noise).flatten(0, 1), dim=1)


def test_three_blobs_have_three_centroids_of_equal_mass() -> None:
    z = blobs(8)
    start = F.normalize(torch.eye(4)[:3] + 0.3, dim=1)
    centroids = balanced_centroids(z, 3, torch.Generator(), start=start)
    expected = F.normalize(z.view(3, 8, 4).mean(1), dim=1)
    torch.testing.assert_close(centroids, expected, atol=1e-3, rtol=0)
    shares = assignments(z, centroids)
    torch.testing.assert_close(shares.sum(1), torch.ones(24))
    torch.testing.assert_close(shares.sum(0), torch.full((3,), 8.0), atol=1e-3, rtol=0)
    assert torch.equal(shares.argmax(1), torch.arange(3).repeat_interleave(8))


def by_division(scores: Tensor, epsilon: float, iterations: int) -> Tensor:
    """Eq. 5 as in the paper's listing: rows to 1/K, columns to 1/B, at last columns to 1."""
    q = (scores / epsilon).exp()
    samples, prototypes = q.shape
    for _ in range(iterations):
        for k in range(prototypes):
            q[:, k] /= q[:, k].sum() * prototypes
        for b in range(samples):
            q[b] /= q[b].sum() * samples
    return q * samples


@pytest.mark.parametrize("iterations", [1, 3, 10])
def test_assignments_equal_a_plain_loop_of_divisions(iterations: int) -> None:
    scores = torch.rand(2, 6, 4, dtype=torch.float64) * 2 - 1
    codes = sinkhorn(scores, 0.2, iterations)
    for model in range(2):
        torch.testing.assert_close(codes[model], by_division(scores[model], 0.2, iterations))


def test_assignments_are_the_optimum_of_the_regularised_transport() -> None:
    """Eq. 3: the largest tr(QC) + εH(Q) among tables with these marginals, found by scipy."""
    scores = torch.rand(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    s, epsilon = scores.numpy(), 0.3

    def loss(flat):  # type: ignore[no-untyped-def]
        q = flat.reshape(4, 2).clip(1e-12)
        return float(-(q * s).sum() + epsilon * (q * np.log(q)).sum())

    marginals = [
        {"type": "eq", "fun": lambda f, b=b: f.reshape(4, 2)[b].sum() - 0.25} for b in range(4)
    ] + [{"type": "eq", "fun": lambda f: f.reshape(4, 2)[:, 0].sum() - 0.5}]
    best = minimize(loss, [0.125] * 8, bounds=[(0, 1)] * 8, constraints=marginals, tol=1e-12)
    expected = torch.from_numpy(best.x.reshape(4, 2) * 4)
    torch.testing.assert_close(sinkhorn(scores[None], epsilon, 500)[0], expected, atol=1e-4, rtol=0)


def test_samples_that_are_not_valid_have_no_part_in_the_balance() -> None:
    scores = torch.randn(2, 9, 3, dtype=torch.float64)
    valid = torch.zeros(2, 9, dtype=torch.bool)
    valid[0, :5], valid[1, :8] = True, True
    codes = sinkhorn(scores, 0.5, 4, valid)
    torch.testing.assert_close(codes[:1, :5], sinkhorn(scores[:1, :5], 0.5, 4))
    torch.testing.assert_close(codes[1:, :8], sinkhorn(scores[1:, :8], 0.5, 4))
    assert bool(codes.isfinite().all())


def test_a_tiny_epsilon_does_not_underflow() -> None:
    codes = sinkhorn(torch.randn(1, 20, 5) * 10, 0.001, 3)
    assert bool(codes.isfinite().all())
    torch.testing.assert_close(codes.sum(2), torch.ones(1, 20))


def test_assignments_equal_those_of_lightly() -> None:
    ensure_torchvision()
    swav = pytest.importorskip("lightly.loss.swav_loss")
    scores = torch.rand(10, 4) * 2 - 1
    theirs = swav.sinkhorn(scores, iterations=3, epsilon=0.05)
    torch.testing.assert_close(sinkhorn(scores[None], 0.05, 3)[0], theirs, atol=1e-5, rtol=1e-4)
