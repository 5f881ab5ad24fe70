import pytest
import torch
from scipy.stats import kstest

from fedrepro.methods.privacy.instahide import LARGEST, coefficients, instahide, partners


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("mixed", [2, 3, 4, 6])
def test_coefficients_are_shares_and_none_is_too_large(mixed: int) -> None:
    share = coefficients(500, mixed, stream())
    assert share.shape == (500, mixed)
    torch.testing.assert_close(share.sum(1), torch.ones(500))
    assert bool((share >= 0).all())
    assert float(share.max()) <= LARGEST


def test_two_coefficients_are_uniform_in_what_the_bound_leaves() -> None:
    share = coefficients(4000, 2, stream())[:, 0].numpy()
    assert kstest(share, "uniform", args=(1 - LARGEST, 2 * LARGEST - 1)).pvalue > 0.001


def test_a_coefficients_distribution_is_that_of_a_bounded_uniform_simplex() -> None:
    """Independent: spacings of sorted uniform numbers, those with a large one rejected."""
    cuts = torch.rand(20000, 3, generator=stream(1)).sort(dim=1).values
    edges = torch.cat([torch.zeros(20000, 1), cuts, torch.ones(20000, 1)], dim=1)
    spacings = edges.diff(dim=1)
    spacings = spacings[spacings.amax(1) <= LARGEST]
    ours = coefficients(5000, 4, stream())
    for place in range(4):
        assert kstest(ours[:, place].numpy(), spacings[:, 0].numpy()).pvalue > 0.001


def test_every_image_is_mixed_with_different_others_and_equally_often() -> None:
    index = partners(11, 4, stream())
    assert torch.equal(index[:, 0], torch.arange(11))
    assert all(len(set(row.tolist())) == 4 for row in index)
    assert torch.equal(torch.bincount(index.flatten()), torch.full((11,), 4))


def test_encryption_equals_a_plain_loop_over_mixing_and_signs() -> None:
    images = torch.rand(7, 2, 3, 3)
    found = instahide(images, 3, stream(5))
    replay = stream(5)
    share, index = coefficients(7, 3, replay), partners(7, 3, replay)
    flips = torch.randint(0, 2, images.shape, generator=replay)
    for i in range(7):
        mixture = sum(float(share[i, j]) * (2 * images[index[i, j]] - 1) for j in range(3))
        sign = flips[i] * 2.0 - 1.0
        torch.testing.assert_close(2 * found[i] - 1, sign * mixture)


def test_half_of_all_signs_are_flipped_and_sizes_are_kept() -> None:
    images = torch.rand(200, 3, 8, 8) * 0.4 + 0.6  # every offset from grey is positive
    found = instahide(images, 1, stream())
    assert float((found < 0.5).double().mean()) == pytest.approx(0.5, abs=0.01)
    torch.testing.assert_close((2 * found - 1).abs(), 2 * images - 1)


def test_encrypted_images_stay_in_the_range_of_pixels() -> None:
    found = instahide(torch.rand(50, 1, 5, 5), 4, stream())
    assert 0 <= float(found.min()) <= float(found.max()) <= 1


def test_too_few_images_are_refused() -> None:
    with pytest.raises(ValueError, match="4 images cannot be mixed: there are 3"):
        instahide(torch.rand(3, 1, 2, 2), 4, stream())
