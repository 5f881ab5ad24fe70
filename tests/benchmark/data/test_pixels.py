import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fedrepro.benchmark.data.folder import decode
from fedrepro.benchmark.errors import DataError

RAMP = np.linspace(0, 65535, 64).round().astype(np.uint16).reshape(8, 8)


def png(width: int, height: int, depth: int, colour: int, rows: bytes) -> bytes:
    """A PNG file made by its specification; rows begin with their filter's byte."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checked = kind + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    chunks = {b"IHDR": header, b"IDAT": zlib.compress(rows), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in chunks.items())


def test_colour_of_sixteen_bits_keeps_its_upper_byte(tmp_path: Path) -> None:
    wide = np.stack([RAMP, RAMP[::-1], RAMP.T], axis=2)
    rows = wide.astype(">u2").tobytes()
    path = tmp_path / "x.png"
    filtered = b"".join(b"\0" + rows[i : i + 48] for i in range(0, 384, 48))
    path.write_bytes(png(8, 8, 16, 2, filtered))
    assert np.array_equal(decode(str(path), 3), (wide >> 8).transpose(2, 0, 1))


def test_one_bit_is_black_and_white_and_a_palette_stands_for_its_colours(tmp_path: Path) -> None:
    Image.fromarray(RAMP > 30000).convert("1").save(tmp_path / "x.png")
    assert np.array_equal(decode(str(tmp_path / "x.png"), 1)[0], (RAMP > 30000) * np.uint8(255))
    picture = Image.new("P", (2, 1))
    picture.putpalette([255, 0, 0, 0, 0, 255])
    picture.putpixel((1, 0), 1)
    picture.save(tmp_path / "x.png")
    assert decode(str(tmp_path / "x.png"), 3)[:, 0].T.tolist() == [[255, 0, 0], [0, 0, 255]]
    assert decode(str(tmp_path / "x.png"), 1)[0].tolist() == [[76, 29]]


@pytest.mark.parametrize("mode", ["LA", "RGBA", "P"])
@pytest.mark.parametrize("opaque", [True, False])
def test_transparency_is_refused_if_there_is_any(tmp_path: Path, mode: str, opaque: bool) -> None:
    path = tmp_path / "x.png"
    if mode == "P":
        picture = Image.new("P", (2, 2), 1)
        picture.putpalette([9, 9, 9, 40, 40, 40])
        picture.save(path, transparency=0 if opaque else 1)
    else:
        alpha = 255 if opaque else 254
        Image.new(mode, (2, 2), (40, alpha) if mode == "LA" else (40, 40, 40, alpha)).save(path)
    if opaque:
        assert (decode(str(path), 3) == 40).all()
        assert (decode(str(path), 1) == 40).all()
        return
    with pytest.raises(DataError, match=f"{path} has transparent pixels; put it on a background"):
        decode(str(path), 3)


@pytest.mark.parametrize(
    ("mode", "name"), [("CMYK", "x.jpg"), ("F", "x.tif"), ("I", "x.tif"), ("I;16", "x.png")]
)
def test_pixels_that_are_no_bytes_are_refused(tmp_path: Path, mode: str, name: str) -> None:
    Image.new(mode, (4, 4)).save(tmp_path / name)
    with pytest.raises(DataError, match=f"{name} holds {mode} pixels, which have no one meaning"):
        decode(str(tmp_path / name), 3)


def test_an_image_of_absurd_size_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(png(100_000, 100_000, 8, 0, b"\0"))
    with pytest.raises(DataError, match=f"{path} cannot be decoded .*decompression bomb"):
        decode(str(path), 1)
