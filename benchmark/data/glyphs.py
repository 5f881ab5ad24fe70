"""Draws images of characters: the stand-ins of photographs, for runs that need no download.

A class is a character. Images of a class differ in font, place, size and turn, and in the tones of
ink and ground, as far as a `Look` says. The views of self-supervised methods change just these, so
a lead here shows that a method can use features learned so, not that real data have them.

Masks of 200 characters in 16 fonts come with fedrepro: DejaVu Sans, Sans Mono and Serif, and STIX
General, each in four styles. `tools/glyph_masks.py` makes the file; its folder has the licences of
the fonts. Every font has every character. At the same place and size no two characters have nearly
the same mask in any font. So of Latin, Greek and Cyrillic A at most one could be taken.

The same images are drawn on every platform. Random numbers are uniform ones of NumPy's
`RandomState`, whose stream is frozen. The rest is sums, products and quotients of single numbers in
double precision, without a matrix product, a sum over an axis or a function of a system's library.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from .formats import read_shipped

Pixels = NDArray[np.float64]
SIDE = 28
"""Pixels of an image's side, and of the em of a font at size 1."""
FOLDER = Path(__file__).parent / "excerpts" / "glyphs"
MASKS = "masks-idx4-ubyte.gz"
_SHA256 = "939eaa65ff248b24f426bdf5a1bb08621ce2a97c3785be63c6d5f72892833fc9"

DIGITS = "0123456789"
LATIN = "ACDEGHJKLMNPQRTUVWXYZabdefijkmnoqrsty"
GREEK = "ΓΔΞΣΦΩαβδζλμνξςωφϒϕϙϚϞϟϠϡϰϱϵ"
CYRILLIC = "ЂЊЋБДЖЛЧШЭЮзыьяђљћѢѣґ"
SIGNS = "!#$%&()*/:;<=>?@^{}~¢£¤¥§©«¬®±¶»¼½¾¿×÷†‡‰€№™␣∂╫╬"
FURTHER = "ÆØÞßæþŊŒƈƕƪƫƺƾǂɔɕɖɘɚɛɝɠɣɤɬɮɰɲɳɹɻɽʂʅʆʇʍʎʐʑʒʔʕʖʗʙʛʞʤʥʦʧʨʱﬂ"
"""Letters of less common alphabets and of phonetic writing."""
CHARACTERS = DIGITS + LATIN + GREEK + CYRILLIC + SIGNS + FURTHER
_CHUNK = 64
"""Images that are drawn at once, which stay in a processor's cache; another number draws others."""


@dataclass(frozen=True)
class Look:
    """How images vary.

    `channels`: 1 for grey, 3 for colour. `smallest`: least size; at size 1 a font's em has 28
    pixels, and the largest is 1.05. `shift`: largest distance from the middle, each way, as a share
    of the image's side. `turn`: tangent of half the largest turn. `light`: share of images with a
    light ground and dark ink. `patches`: contrast of the ground's soft patches, 2 to 4 a side, as a
    share of white. `tones`: of ground and ink, if all images have the same. `noise`: largest change
    of a value by noise, as a share of white."""

    channels: int
    smallest: float
    shift: float
    turn: float
    light: float = 0.0
    patches: float = 0.0
    tones: tuple[float, float] | None = None
    noise: float = 0.05


@cache
def masks() -> NDArray[np.uint8]:
    """Characters x fonts x 32 x 32, from 0 to 15 (ink alone), in the middle of an empty border."""
    return read_shipped(FOLDER / MASKS, 4, _SHA256)


def draw(look: Look, characters: NDArray[np.int64], random: RandomState) -> NDArray[np.uint8]:
    """Images, n x channels x 28 x 28, of the characters at n positions in `CHARACTERS`."""
    images = np.empty((len(characters), look.channels, SIDE, SIDE), np.uint8)
    for first in range(0, len(images), _CHUNK):
        some = images[first : first + _CHUNK]
        alpha = _alpha(look, characters[first : first + _CHUNK], random)[:, None]
        ground, ink = look.tones or _tones(look, random, len(some))
        if look.patches:
            ground = ground + look.patches * (_patches(random, len(some), look.channels) - 0.5)
        noise = look.noise * (2 * random.random_sample(some.shape) - 1)
        values = alpha * ink + (1 - alpha) * ground + noise
        some[:] = np.floor(255 * np.clip(values, 0, 1) + 0.5)
    return images


def _alpha(look: Look, characters: NDArray[np.int64], random: RandomState) -> Pixels:
    """How much of each pixel is ink, n x 28 x 28: masks moved, sized and turned, bilinearly."""
    held = masks()
    fonts, side = held.shape[1:3]
    u = random.random_sample((5, len(characters), 1, 1))
    size = look.smallest + (1.05 - look.smallest) * u[1]
    down, right = (2 * u[2:4] - 1) * look.shift * SIDE
    half = (2 * u[4] - 1) * look.turn
    cosine, sine = (1 - half * half) / (1 + half * half), 2 * half / (1 + half * half)
    place = np.arange(SIDE) - (SIDE - 1) / 2
    y, x = place[:, None] - down, place - right
    turned = np.stack([cosine * y - sine * x, sine * y + cosine * x])
    position = np.clip(turned / size + (side - 1) / 2, 0, side - 1 - 1e-9)  # outside is the border
    (top, left), (below, beside) = np.floor(position), position - np.floor(position)
    font = np.floor(u[0] * fonts)
    corner = ((characters[:, None, None] * fonts + font) * side + top) * side + left
    at = corner.astype(np.int64)
    a, b, c, d = (np.take(held, at + k) / 15 for k in (0, 1, side, side + 1))
    upper, lower = a + beside * (b - a), c + beside * (d - c)
    alpha: Pixels = upper + below * (lower - upper)
    return alpha


def _tones(look: Look, random: RandomState, n: int) -> tuple[Pixels, Pixels]:
    """Those of grounds and inks, n x channels x 1 x 1: one of them is dark and the other light."""
    is_light = random.random_sample((n, 1, 1, 1)) < look.light
    ground, ink = random.random_sample((2, n, look.channels, 1, 1))
    return 0.35 * ground + 0.65 * is_light, 0.5 * ink + 0.5 * ~is_light


def _patches(random: RandomState, n: int, channels: int) -> Pixels:
    """Values, n x channels x 28 x 28, between those of 2x2, 3x3 or 4x4 points, bilinearly."""
    count = np.floor(2 + 3 * random.random_sample((n, 1, 1, 1)))
    points = random.random_sample((4, 4, n, channels, 1, 1))
    place = np.clip((np.arange(SIDE) + 0.5) / SIDE * count - 0.5, 0, count - 1)
    weight = [np.maximum(0, 1 - np.abs(place - i)) for i in range(4)]
    rows = [sum(one * along for one, along in zip(row, weight, strict=True)) for row in points]
    soft: Pixels = sum(row * one.swapaxes(2, 3) for row, one in zip(rows, weight, strict=True))
    return soft
