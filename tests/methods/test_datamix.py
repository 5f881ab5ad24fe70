"""Mixtures of two images, the same for both views."""

from __future__ import annotations

import pytest
import torch

from fedrepro.methods.privacy.datamix import datamix


def test_every_image_is_a_mixture_of_itself_and_one_other_alike_in_both_views() -> None:
    n = 7
    z = torch.eye(n).unsqueeze(1).repeat(1, 2, 1)
    mixed = datamix(z, torch.Generator().manual_seed(0), least=0.6)
    assert torch.equal(mixed[:, 0], mixed[:, 1])
    coefficients = mixed[:, 0]
    assert torch.allclose(coefficients.sum(1), torch.ones(n))
    assert torch.equal((coefficients > 0).sum(1), torch.full((n,), 2))
    assert bool((coefficients.diagonal() >= 0.6).all())
    # Every image lends itself to exactly one other.
    assert torch.equal((coefficients > 0).sum(0), torch.full((n,), 2))


@pytest.mark.parametrize("n", [1, 2])
def test_one_image_stays_and_two_are_mixed(n: int) -> None:
    z = torch.rand(n, 2, 3)
    mixed = datamix(z, torch.Generator().manual_seed(1))
    assert torch.equal(mixed, z) == (n == 1)


def test_draws_differ() -> None:
    z = torch.rand(5, 2, 3)
    stream = torch.Generator().manual_seed(0)
    assert not torch.equal(datamix(z, stream), datamix(z, stream))
