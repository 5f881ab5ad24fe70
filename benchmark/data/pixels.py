"""One image file as 8-bit pixels, or one line that says why it has none.

How the pixels of a file become 0 to 255, so that no image is changed unnoticed:

- grey or colour of 8 bits: as they are; of 1 bit: 0 and 255;
- a palette: its colours;
- grey of 16 bits: divided by 257 and rounded, which takes 0 to 0 and 65,535 to 255 (Pillow itself
  reads colour of 16 bits, and keeps the upper byte);
- an alpha channel or a transparent colour: left out where every pixel is opaque. Transparent pixels
  are refused: what they show depends on a background that the file does not name;
- all else (CMYK, LAB, 32-bit whole numbers, floating point) is refused: its range or its colours
  are not in the file.

Colour becomes grey by the luma of ITU-R BT.601, grey becomes colour by repetition.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..errors import DataError, is_out_of_memory

FORMATS = {
    ".bmp": "BMP",
    ".gif": "GIF",
    ".jpeg": "JPEG",
    ".jpg": "JPEG",
    ".pgm": "PPM",
    ".png": "PNG",
    ".ppm": "PPM",
    ".tif": "TIFF",
    ".webp": "WEBP",
}
"""What a file is read as, by the end of its name; nothing else is tried on it."""
_PLAIN = ("1", "L", "P", "RGB")
_ALPHA = ("LA", "PA", "RGBA")
_SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")


def decode(path: str, channels: int) -> NDArray[np.uint8]:
    """The pixels of an image, `channels` (1 or 3) x height x width.

    Raises `DataError` that names the file if it is not the image that its name promises, if it is
    larger than Pillow deems safe, or if its pixels have no meaning as bytes.
    """
    meant = FORMATS[Path(path).suffix.lower()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=(meant,)) as picture:
                pixels = _bytes_of(picture, path, channels)
    except DataError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever they stumble on
        reason = "memory ran out" if is_out_of_memory(error) else " ".join(str(error).split())
        raise DataError(f"{path} cannot be decoded as a {meant} image ({reason})") from error
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


def _bytes_of(picture: Image.Image, path: str, channels: int) -> NDArray[np.uint8]:
    # PNG and PPM have no whole numbers of 32 bits; Pillow holds their 16 bits in as many.
    sixteen = picture.mode == "I" and picture.format in ("PNG", "PPM")
    if sixteen or picture.mode in _SIXTEEN_BITS:
        wide = np.asarray(picture).astype(np.uint32)
        picture = Image.fromarray(((wide + 128) // 257).astype(np.uint8))
    elif picture.mode in _ALPHA or (picture.mode in _PLAIN and "transparency" in picture.info):
        picture = picture.convert("RGBA")
        if np.asarray(picture)[..., 3].min(initial=255) < 255:
            raise DataError(f"{path} has transparent pixels; put it on a background")
    elif picture.mode not in _PLAIN:
        raise DataError(
            f"{path} holds {picture.mode} pixels, which have no one meaning as bytes; save it as "
            "grey or RGB"
        )
    return np.asarray(picture.convert("L" if channels == 1 else "RGB"))
