"""Makes the masks that `benchmark/data/glyphs.py` draws with, from the fonts of Matplotlib.

`python -m tools.glyph_masks` writes them and prints their SHA-256. Another version of FreeType or
Pillow may give slightly other masks, so that the file is part of the repository.
"""

import gzip
import hashlib
import struct
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.ft2font import FT2Font
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from fedrepro.benchmark.data.glyphs import CHARACTERS, FOLDER, MASKS, SIDE

FAMILIES = ("DejaVuSans*", "DejaVuSerif*", "STIXGeneral*")
MASK_SIDE, LARGEST, FINER, LEVELS = 32, 26, 8, 15
"""Pixels of a mask; of a character at most, which shrinks to it; how much finer it is drawn."""


def fonts() -> list[Path]:
    """The fonts that have every character, by name."""
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    found = sorted(path for family in FAMILIES for path in folder.glob(f"{family}.ttf"))
    wanted = set(map(ord, CHARACTERS))
    return [path for path in found if wanted <= set(FT2Font(str(path)).get_charmap())]


def mask(font: ImageFont.FreeTypeFont, character: str) -> NDArray[np.uint8]:
    em = SIDE * FINER
    canvas = Image.new("L", (4 * em, 4 * em))
    ImageDraw.Draw(canvas).text((2 * em, 2 * em), character, fill=255, font=font, anchor="mm")
    left, top, right, bottom = canvas.getbbox()
    half = MASK_SIDE / 2 * max(FINER, (right - left) / LARGEST, (bottom - top) / LARGEST)
    x, y = (left + right) / 2, (top + bottom) / 2
    small = canvas.resize(
        (MASK_SIDE, MASK_SIDE), Image.Resampling.BOX, (x - half, y - half, x + half, y + half)
    )
    return np.round(np.asarray(small) / 255 * LEVELS).astype(np.uint8)


def main() -> None:
    """Writes the file (IDX, see `benchmark/data/formats.py`), characters x fonts x 32 x 32."""
    used = fonts()
    opened = [ImageFont.truetype(str(path), SIDE * FINER) for path in used]
    made = np.stack([[mask(font, character) for font in opened] for character in CHARACTERS])
    content = struct.pack(">BBBB4I", 0, 0, 8, 4, *made.shape) + made.tobytes()
    (FOLDER / MASKS).write_bytes(gzip.compress(content, 9, mtime=0))
    print(*(path.stem for path in used), hashlib.sha256(content).hexdigest(), sep="\n")


if __name__ == "__main__":
    main()
