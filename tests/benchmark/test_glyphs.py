from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import ImageFont
from scipy.ndimage import affine_transform

from fedrepro.benchmark.data import find, glyphs, load, names
from fedrepro.benchmark.data.sets.glyphs import CLASSES, LOOKS
from tools.glyph_masks import fonts, mask

CHECKSUMS = {
    "grey": "caf31c81 1efc0f7d bb1c4148 f4eb8537",
    "grey-patches": "52d4d7b0 8152f3f6 7665927c e9dbcd79",
    "grey-moved": "7b099ec2 fb08b255 afcd7ad0 f452a4d4",
    "colour": "bf945fbc 9ec7d865 7e161015 f6ab5f17",
    "colour-patches": "c95dbe15 a37729e6 c9ac8395 e067a92a",
    "colour-hard": "af0615af db029969 2bdd40d8 b075db9e",
    "digits": "076ae2f4",
    "letters": "243968b7",
}
"""Of test parts by look; of `a`, `b`, `100` and `200` one after the other."""
ALIKE = 0.93
"""Overlap of two masks (Dice, of greys) from which they count as one picture. One letter in two
alphabets reaches 0.98 to 1, one in upper and lower case 0.94 (c, s, v, x, z). Latin letters and
digits that nobody confuses reach 0.93 in the boldest font (6 and G)."""


def at_one_size(masks: NDArray[np.uint8]) -> torch.Tensor:
    """Masks, n x 28 x 28, of which the longer side of the ink has 24 pixels, in the middle."""
    out = torch.zeros(len(masks), 28, 28)
    for one, held in zip(out, torch.from_numpy(masks / 15).float(), strict=True):
        rows, columns = (held > 0.1).nonzero().unbind(1)
        ink = held[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        h, w = (max(1, round(24 * side / max(ink.shape))) for side in ink.shape)
        sized = F.interpolate(ink[None, None], size=(h, w), mode="bilinear", antialias=True)[0, 0]
        one[(28 - h) // 2 :, (28 - w) // 2 :][:h, :w] = sized
    return out


def test_no_two_characters_have_nearly_the_same_mask_in_any_font() -> None:
    assert len(set(glyphs.CHARACTERS)) == 200
    for of_font in glyphs.masks().transpose(1, 0, 2, 3):
        sized = at_one_size(of_font)
        flat, power = sized.flatten(1), sized.square().sum((1, 2))
        for shift in ((y, x) for y in range(-2, 3) for x in range(-2, 3)):
            overlap = 2 * flat @ sized.roll(shift, (1, 2)).flatten(1).T
            overlap /= power[:, None] + power[None]
            assert overlap.fill_diagonal_(0).max() < ALIKE


def test_the_measure_of_likeness_finds_one_letter_in_two_alphabets() -> None:
    font = ImageFont.truetype(str(fonts()[0]), 224)
    a, alpha, c = at_one_size(np.stack([mask(font, one) for one in "AΑC"])).flatten(1)
    assert 2 * a @ c / (a @ a + c @ c) < 0.8 < 0.99 < 2 * a @ alpha / (a @ a + alpha @ alpha)


def test_masks_are_of_every_font_that_has_all_characters_with_an_empty_border() -> None:
    held, found = glyphs.masks(), fonts()
    assert held.shape == (200, len(found), 32, 32)
    assert 9 < held.max((2, 3)).min() < held.max() == 15
    assert not any(held[..., edge, :].any() or held[..., edge].any() for edge in (0, -1))
    for i, path in enumerate(found):  # another FreeType may set a pixel's grey otherwise
        made = mask(ImageFont.truetype(str(path), 8 * glyphs.SIDE), "G")
        shipped = held[glyphs.CHARACTERS.index("G"), i]
        assert np.abs(made.astype(int) - shipped).mean() < 0.2


def test_a_character_is_sized_turned_and_moved_as_scipy_does_it() -> None:
    look = replace(LOOKS["grey-moved"], turn=0.2, noise=0.0, tones=(0.0, 1.0))
    u = np.array([3.5 / 16, 0.4, 0.9, 0.2, 0.8]).reshape(5, 1, 1, 1)
    random = Mock(random_sample=Mock(side_effect=[u, np.zeros((1, 1, 28, 28))]))
    drawn = glyphs.draw(look, np.array([7]), random)
    size, angle = 0.6 + 0.45 * 0.4, 2 * np.arctan(0.6 * 0.2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) / size
    middle = np.array([13.5 + 0.8 * 0.15 * 28, 13.5 - 0.6 * 0.15 * 28])
    mask = glyphs.masks()[7, 3] / 15
    wanted = affine_transform(mask, turn, 15.5 - turn @ middle, (28, 28), order=1)
    assert np.abs(drawn[0, 0] - 255 * wanted).max() <= 0.5 + 1e-6


def test_soft_patches_are_bilinear_as_torch_does_it() -> None:
    points = np.random.default_rng(0).random((4, 4, 1, 3, 1, 1))
    random = Mock(random_sample=Mock(side_effect=[np.full((1, 1, 1, 1), 0.5), points]))
    three = torch.from_numpy(points[:3, :3, 0, :, 0, 0].transpose(2, 0, 1))
    wanted = F.interpolate(three[None], size=28, mode="bilinear")
    torch.testing.assert_close(torch.from_numpy(glyphs._patches(random, 1, 3)), wanted)


def test_everyone_draws_the_same_images_with_the_channels_of_their_look() -> None:
    found = {}
    for look in (*LOOKS, "digits", "letters"):
        sets = [f"{look}-{end}" for end in ("a", "b", "100", "200")] if look in LOOKS else [look]
        loaded = [load(f"glyphs-{one}", "test") for one in sets]
        found[look] = " ".join(one.checksum[:8] for one in loaded)
        channels = 3 if "colour" in look else 1
        assert {one.portion.images.shape for one in loaded} == {(4000, channels, 28, 28)}
    assert found == CHECKSUMS


def test_no_image_is_drawn_twice_and_classes_are_even() -> None:
    parts = [load("glyphs-digits", part).portion for part in ("train", "test", "unlabeled")]
    assert len({image.numpy().tobytes() for part in parts for image in part.images}) == 16_000
    for labels, each in ((parts[0].labels, 600), (parts[1].labels, 400)):
        assert labels is not None
        assert torch.bincount(labels).tolist() == [each] * 10
    assert parts[2].labels is None


def test_a_set_has_the_classes_of_its_name() -> None:
    numbers = {"a": 10, "b": 10, "100": 100, "200": 200, "digits": 10, "letters": 47}
    sets = [name for name in names() if name.startswith("glyphs-")]
    assert all(find(name).n_classes == numbers[name.rpartition("-")[2]] for name in sets)
    assert (len(sets), set(CLASSES["a"]) & set(CLASSES["b"])) == (26, set())
