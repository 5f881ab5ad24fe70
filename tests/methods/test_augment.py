import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from fedrepro.methods.data.views import pixels
from fedrepro.methods.data.views.augment import Augmentation, Parameters, apply
from tests.methods.conftest import PLAIN, stream
from tests.whole_torchvision import ensure_torchvision

ensure_torchvision()
TF = pytest.importorskip("torchvision.transforms.functional")

torch.set_num_threads(1)  # on tensors this small, threads wait for each other

FULL = Augmentation(blur_probability=1.0)
WINDOW = replace(PLAIN, crop_padding=5, flip_probability=0.5)


def images(n: int, channels: int, side: int, seed: int = 0) -> Tensor:
    g = stream(seed)
    return torch.randint(256, (n, channels, side, side), generator=g, dtype=torch.uint8)


def reference(image: Tensor, p: Parameters, i: int) -> Tensor:
    """One image through torchvision's functions, with row i of the parameters."""
    side, colour = image.shape[-1], image.shape[0] == 3
    border = 5
    down, right = (p.shift[i] + border).tolist()
    x = TF.pad(image, border, padding_mode="reflect" if p.mirrored[i] else "constant")
    image = TF.crop(x, down, right, side, side)
    box = [int(v[i]) for v in (p.top, p.left, p.height, p.width)]
    x = TF.resized_crop(image, *box, [side, side], antialias=True)
    x = TF.hflip(x) if p.flip[i] else x
    adjust = {
        pixels.BRIGHTNESS: TF.adjust_brightness,
        pixels.CONTRAST: TF.adjust_contrast,
        pixels.SATURATION: TF.adjust_saturation,
        pixels.HUE: TF.adjust_hue,
    }
    for operation in p.order[i].tolist():
        x = adjust[operation](x, float(p.factors[i, operation]))
    if p.grey[i] and colour:
        x = TF.rgb_to_grayscale(x, num_output_channels=3)
    window = 2 * pixels.blur_radius(side) + 1
    if p.sigma[i] > 0 and window > 1:
        x = TF.gaussian_blur(x, [window, window], [float(p.sigma[i])] * 2)
    return x


@pytest.mark.parametrize(("channels", "side"), [(1, 8), (3, 8), (1, 28), (3, 32), (3, 96)])
def test_every_image_equals_torchvision_with_the_same_parameters(channels: int, side: int) -> None:
    n = 40
    x = images(n, channels, side).float() / 255
    p = FULL.draw(n, side, side, stream(1))
    expected = torch.stack([reference(x[i], p, i) for i in range(n)])
    torch.testing.assert_close(apply(x, p), expected, atol=3e-5, rtol=0)


@pytest.mark.parametrize("border", ["zero", "reflect"])
@pytest.mark.parametrize(("channels", "side"), [(1, 8), (3, 32)])
def test_a_moved_window_equals_torchvisions_crop_of_the_padded_image(
    channels: int, side: int, border: Literal["zero", "reflect"]
) -> None:
    n = 60
    x = images(n, channels, side)
    for augmentation in (replace(WINDOW, crop_border=border), replace(FULL, crop_padding=5)):
        p = augmentation.draw(n, side, side, stream(1))
        expected = torch.stack([reference(x[i].float() / 255, p, i) for i in range(n)])
        torch.testing.assert_close(apply(x, p), expected, atol=3e-5, rtol=0)


def test_windows_are_placed_as_torchvisions_random_crop_places_them() -> None:
    transforms = pytest.importorskip("torchvision.transforms")
    shift = WINDOW.draw(5000, 32, 32, stream()).shift
    assert shift.min() == -5
    assert shift.max() == 5
    places, counts = torch.unique(shift, dim=0, return_counts=True)
    assert len(places) == 11**2
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3
    with torch.random.fork_rng():
        torch.manual_seed(0)
        drawn = [transforms.RandomCrop.get_params(torch.zeros(1, 42, 42), (32, 32)) for _ in shift]
    theirs = np.array(drawn)[:, :2] - 5
    for column in range(2):
        assert stats.ks_2samp(shift[:, column].numpy(), theirs[:, column]).pvalue > 1e-3


@pytest.mark.parametrize("n_views", [1, 2])
def test_padded_images_of_a_smaller_client_draw_nothing(n_views: int) -> None:
    x, counts = torch.stack([images(7, 3, 8, seed) for seed in (0, 1)]), [7, 4]
    streams, alone = [stream(1), stream(2)], [stream(1), stream(2)]
    together = WINDOW.stacked_views(x, n_views, streams, counts)
    for model, count in enumerate(counts):
        for view, own in zip(
            together, WINDOW.views(x[model, :count], n_views, alone[model]), strict=True
        ):
            torch.testing.assert_close(view[model, :count], own, atol=1e-6, rtol=0)
        assert torch.equal(streams[model].get_state(), alone[model].get_state())


def test_views_of_a_batch_are_those_of_its_images_one_by_one() -> None:
    n = 70
    x = images(n, 3, 96)  # more than one piece, blurred and not
    p = FULL.draw(2 * n, 96, 96, stream(2))
    together = apply(x, p)
    for i in (0, 1, n - 1, n, 2 * n - 1):
        alone = apply(x[i % n].unsqueeze(0), p.take(torch.tensor([i])))
        torch.testing.assert_close(together[i], alone[0], atol=1e-6, rtol=0)


def test_views_of_batches_together_are_those_of_one_after_the_other() -> None:
    batches = images(20, 3, 16).split(8)  # the last one is smaller
    one = stream(3)
    alone = [FULL.views(batch, 2, one) for batch in batches]
    together = FULL.views_of_batches(batches, 2, stream(3))
    for ours, theirs in zip(together, alone, strict=True):
        for view, expected in zip(ours, theirs, strict=True):
            torch.testing.assert_close(view, expected, atol=1e-6, rtol=0)


def test_hue_equals_torchvision_on_greys_primaries_and_ties() -> None:
    levels = torch.tensor([0.0, 0.5, 1.0])
    x = torch.cartesian_prod(levels, levels, levels).t().reshape(1, 3, 3, 9)
    turns = torch.linspace(-0.5, 0.5, 11)
    expected = torch.cat([TF.adjust_hue(x, float(turn)) for turn in turns])
    ours = x.repeat(11, 1, 1, 1).flatten(2)
    pixels.turn_hue(ours, turns)
    torch.testing.assert_close(ours, expected.flatten(2), atol=1e-5, rtol=0)


def test_a_view_with_everything_turned_off_is_the_image() -> None:
    x = images(9, 3, 16)
    for view in PLAIN.views(x, 2, stream()):
        torch.testing.assert_close(view, x.float() / 255, atol=1e-6, rtol=0)


def uniform(sample: Tensor, low: float, high: float) -> float:
    return float(stats.kstest(sample.numpy(), stats.uniform(low, high - low).cdf).pvalue)


def test_factors_are_uniform_in_their_intervals_where_jitter_acts() -> None:
    p = Augmentation(brightness=0.4, contrast=1.5).draw(4000, 32, 32, stream())
    acts = (p.factors != torch.tensor([1.0, 1.0, 1.0, 0.0])).any(1)
    assert stats.binomtest(int(acts.sum()), 4000, 0.8).pvalue > 1e-3
    bounds = [(0.6, 1.4), (0.0, 2.5), (0.2, 1.8), (-0.2, 0.2)]
    for operation, (low, high) in enumerate(bounds):
        assert uniform(p.factors[acts, operation], low, high) > 1e-3


def test_coins_fall_with_their_probabilities_and_apart_from_each_other() -> None:
    p = Augmentation(flip_probability=0.3).draw(5000, 32, 32, stream())
    coins = torch.stack([p.flip, p.grey, p.sigma > 0]).double()
    for coin, probability in zip(coins, (0.3, 0.2, 0.5), strict=True):
        assert stats.binomtest(int(coin.sum()), 5000, probability).pvalue > 1e-3
    correlation = np.corrcoef(coins.numpy())[np.triu_indices(3, 1)]
    assert np.abs(correlation).max() < 4 / math.sqrt(5000)
    assert uniform(p.sigma[p.sigma > 0], 0.1, 2.0) > 1e-3


def test_all_24_orders_of_the_colour_operations_are_equally_likely() -> None:
    p = Augmentation().draw(6000, 8, 8, stream())
    orders, counts = torch.unique(p.order, dim=0, return_counts=True)
    assert len(orders) == 24
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


@pytest.mark.parametrize(("height", "width"), [(32, 32), (8, 8), (20, 60)])
def test_crops_lie_in_the_image_and_are_spread_as_torchvisions(height: int, width: int) -> None:
    transforms = pytest.importorskip("torchvision.transforms")
    n = 1500
    p = Augmentation().draw(n, height, width, stream())
    assert (p.height >= 1).all()
    assert (p.width >= 1).all()
    assert (p.top >= 0).all()
    assert (p.left >= 0).all()
    assert (p.top + p.height <= height).all()
    assert (p.left + p.width <= width).all()
    blank = torch.zeros(1, height, width)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = np.array(
            [
                transforms.RandomResizedCrop.get_params(blank, [0.08, 1.0], [3 / 4, 4 / 3])
                for _ in range(n)
            ]
        )
    ours = torch.stack([p.top, p.left, p.height, p.width], dim=1).numpy()
    for column in range(4):
        assert stats.ks_2samp(ours[:, column], theirs[:, column]).pvalue > 1e-3


def test_a_crop_that_never_fits_falls_back_as_torchvisions_does() -> None:
    transforms = pytest.importorskip("torchvision.transforms")
    p = Augmentation(crop_scale=(1.0, 1.0)).draw(5, 10, 40, stream())
    _, _, h, w = transforms.RandomResizedCrop.get_params(
        torch.zeros(1, 10, 40), [1.0, 1.0], [3 / 4, 4 / 3]
    )
    assert p.height.tolist() == [h] * 5
    assert p.width.tolist() == [w] * 5
