"""Equal-size clustering of unit vectors."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from fedrepro.methods.clusters.balanced_clustering import assignments, balanced_centroids


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


def test_crowds_are_shared_out_where_the_nearest_centroid_would_take_all() -> None:
    z = F.normalize(torch.tensor([[1.0, 0.0]] * 6 + [[0.9, 0.1]] * 2), dim=1)
    centroids = F.normalize(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), dim=1)
    assert (z @ centroids.t()).argmax(1).tolist() == [0] * 8
    mass = assignments(z, centroids, iterations=50).sum(0)
    torch.testing.assert_close(mass, torch.full((2,), 4.0), atol=0.05, rtol=0)


def test_fewer_vectors_than_clusters_are_repeated() -> None:
    z = F.normalize(torch.randn(3, 5), dim=1)
    centroids = balanced_centroids(z, 7, torch.Generator().manual_seed(0))
    assert centroids.shape == (7, 5)
    torch.testing.assert_close(centroids.norm(dim=1), torch.ones(7))


def test_nothing_cannot_be_clustered() -> None:
    with pytest.raises(ValueError, match="nothing"):
        balanced_centroids(torch.empty(0, 4), 2, torch.Generator())
