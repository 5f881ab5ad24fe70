import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import Tensor

from fedrepro.benchmark.data.images import prepare


def noise(n: int, channels: int, size: int) -> Tensor:
    stream = torch.Generator().manual_seed(size)
    return torch.randint(0, 256, (n, channels, size, size), generator=stream).to(torch.uint8)


def smooth(channels: int, size: int) -> Tensor:
    ramp = torch.arange(size) * 255 // (size - 1)
    image = torch.stack([ramp.view(1, -1).expand(size, -1), ramp.view(-1, 1).expand(-1, size)])
    return torch.cat([image, image])[:channels].unsqueeze(0).to(torch.uint8)


@pytest.mark.parametrize(("size", "wanted"), [(32, 96), (28, 96), (8, 32), (96, 32), (32, 32)])
def test_resizing_is_that_of_pillow(size: int, wanted: int) -> None:
    for images in (noise(3, 3, size), smooth(3, size)):
        for image, out in zip(images, prepare(images, image_size=wanted), strict=True):
            picture = Image.fromarray(image.permute(1, 2, 0).numpy())
            expected = np.asarray(picture.resize((wanted, wanted), Image.Resampling.BILINEAR))
            assert np.abs(expected.astype(int) - out.permute(1, 2, 0).numpy()).max() <= 1


def test_colour_becomes_grey_as_in_pillow() -> None:
    images = noise(4, 3, 32)
    for image, out in zip(images, prepare(images, channels=1), strict=True):
        expected = np.asarray(Image.fromarray(image.permute(1, 2, 0).numpy()).convert("L"))
        assert np.abs(expected.astype(int) - out[0].numpy()).max() <= 1


def test_grey_is_repeated() -> None:
    images = noise(4, 1, 8)
    assert torch.equal(prepare(images, channels=3), images.repeat(1, 3, 1, 1))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 9), max_size=6),
    st.sampled_from([1, 3]),
    st.sampled_from([None, 8, 12]),
    st.sampled_from([None, 1, 3]),
)
def test_choosing_images_and_bringing_them_to_size_can_be_exchanged(
    index: list[int], channels: int, size: int | None, wanted: int | None
) -> None:
    images = noise(10, channels, 8)
    chosen = torch.tensor(index, dtype=torch.int64)
    out = prepare(images, chosen, size, wanted)
    assert torch.equal(out, prepare(images, None, size, wanted)[chosen])
    assert out.is_contiguous()
    assert out.dtype == torch.uint8


def test_chunks_leave_no_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    images = noise(7, 1, 8)
    whole = prepare(images, image_size=12, channels=3)
    monkeypatch.setattr("fedrepro.benchmark.data.images._CHUNK", 3)
    assert torch.equal(prepare(images, image_size=12, channels=3), whole)


def test_strange_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="1 or 3 channels, not 2 and 3"):
        prepare(torch.zeros(1, 2, 4, 4, dtype=torch.uint8), channels=3)
