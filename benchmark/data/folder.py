"""Image folders: `<class>/<image>` under a part.

How the pixels of a file become 0 to 255, so that no image is changed unnoticed:

* grey or colour of 8 bits: as they are; of 1 bit: 0 and 255; of a palette: its colours.
* an alpha channel or a transparent colour: left out where every pixel is opaque. Transparent pixels
  are refused: what they show depends on a background that the file does not name.
* the orientation of EXIF is applied; files of several frames are refused.
* all else (grey of 16 bits, CMYK, LAB, floating point, ...) is refused: its range or its colours
  are not in the file. Pillow itself reads colour of 16 bits, and keeps the upper byte.

Colour becomes grey by the luma of ITU-R BT.601, grey becomes colour by repetition.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

from ..errors import DataError

FORMATS = {
    ".bmp": "BMP", ".gif": "GIF", ".jpeg": "JPEG", ".jpg": "JPEG", ".pgm": "PPM", ".png": "PNG",
    ".ppm": "PPM", ".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP",
}  # fmt: skip
"""What a file is read as, by the end of its name; nothing else is tried on it."""
_OTHER_IMAGES = (".avif", ".heic", ".heif", ".jp2", ".jxl", ".npy", ".svg", ".tga")
_PLAIN = ("1", "L", "P", "RGB")
_ALPHA = ("LA", "PA", "RGBA")


def read_folder(
    where: Path, channels: int, n_classes: int | None
) -> tuple[Tensor, Tensor | None, str]:
    """Images (uint8, n x channels x height x width), labels, and what was not read. Classes are
    numbered in the order of their folders' names, as numbers where all names are, and the parts
    `train` and `test` must name the same ones. With `n_classes` None all images below `where` are
    taken, without labels; with 0 there may be any number of classes. Raises `DataError` for classes
    and files that do not fit this, and for unreadable ones."""
    none = f"holds no images ({', '.join(FORMATS)})"
    paths, labels = list[str](), list[int]()
    try:
        passed = [] if n_classes is None else files_beside(where)
        for name, label in _folders(where, n_classes):
            images, others = _images_in(name, nested=n_classes is None)
            if not images and n_classes is not None:
                raise DataError(f"{name} {none}")
            paths += images
            labels += [label] * len(images)
            passed += others
    except OSError as error:
        raise DataError(f"{where} cannot be read ({error})") from error
    if not paths:
        raise DataError(f"{where} {none}")
    held = None if n_classes is None else torch.tensor(labels)
    return torch.from_numpy(_decoded(paths, channels)), held, told_of(passed, where.parent)


def files_beside(where: Path) -> list[str]:
    """The files of a folder with its images in folders below; `DataError` for an image."""
    images, others = _images_in(str(where), nested=True)
    if images:
        raise DataError(f"{images[0]} is next to the folders of images; move it into one")
    return others


def told_of(passed: Sequence[str], folder: Path) -> str:
    """A sentence that files below `folder` were not read; empty if there are none."""
    if not passed:
        return ""
    many = f"{len(passed)} other files were" if len(passed) > 1 else "1 other file was"
    return f"{many} not read (first {Path(passed[0]).relative_to(folder).as_posix()})"


def _folders(where: Path, n_classes: int | None) -> list[tuple[str, int]]:
    """The folders of images in the order in which they are numbered, with their labels."""
    if n_classes is None:
        below = (Path(found).relative_to(where) for found, _, _ in os.walk(where))
        shown = (one for one in below if not any(part[0] == "." for part in one.parts))
        return [(name, 0) for name in sorted(str(where / one) for one in shown)]
    classes = _classes(where)
    if n_classes and len(classes) != n_classes:
        raise DataError(f"{where} holds {len(classes)} class folders, the set has {n_classes}")
    other = where.with_name({"train": "test", "test": "train"}[where.name])
    apart = sorted({p.name for p in classes} ^ {p.name for p in _classes(other)})
    if other.is_dir() and apart:
        raise DataError(f"{where} and {other} name other classes: {', '.join(apart[:6])}")
    numbers = all(p.name.isdecimal() for p in classes)
    classes.sort(key=lambda p: (int(p.name) if numbers else 0, p.name))
    return [(str(p), label) for label, p in enumerate(classes)]


def _classes(where: Path) -> list[Path]:
    return [one for one in where.glob("[!.]*") if one.is_dir()]


def _images_in(folder: str, nested: bool) -> tuple[list[str], list[str]]:
    """The paths of the images in a folder, by name, and of the files that are none."""
    images, others = list[str](), list[str]()
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.lower()
            is_image = name.endswith((*FORMATS,))
            if name[0] == ".":
                others += [entry.path] * is_image
            elif entry.is_dir():
                if not nested:
                    raise DataError(f"{entry.path} is a folder inside of a class; move its images")
            elif name.endswith(_OTHER_IMAGES):
                raise DataError(f"{entry.path} is of a format that is not read; save it as PNG")
            else:
                (images if is_image else others).append(entry.path)
    return sorted(images), sorted(others)


def _decoded(paths: list[str], channels: int) -> NDArray[np.uint8]:
    images = np.empty((len(paths), *decode(paths[0], channels).shape), dtype=np.uint8)
    for i, path in enumerate(paths):
        pixels = decode(path, channels)
        if pixels.shape != images.shape[1:]:
            raise DataError(
                f"{path} has {pixels.shape[2]}x{pixels.shape[1]} pixels and {paths[0]} has "
                f"{images.shape[3]}x{images.shape[2]}; bring all images to one size"
            )
        images[i] = pixels
    return images


def decode(path: str, channels: int) -> NDArray[np.uint8]:
    """The pixels of an image, `channels` (1 or 3) x height x width. Raises `DataError` that names a
    file that is not what its name promises, or whose pixels have no meaning as bytes."""
    meant = FORMATS[Path(path).suffix.lower()]
    try:
        with Image.open(path, formats=(meant,)) as picture:
            if (frames := getattr(picture, "n_frames", 1)) > 1:
                raise DataError(f"{path} holds {frames} images; save the one that is meant")
            ImageOps.exif_transpose(picture, in_place=True)
            pixels = _bytes_of(picture, path, channels)
    except DataError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever they stumble on
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path} cannot be decoded as a {meant} image ({reason})") from error
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


def _bytes_of(picture: Image.Image, path: str, channels: int) -> NDArray[np.uint8]:
    if picture.mode in _ALPHA or (picture.mode in _PLAIN and "transparency" in picture.info):
        picture = picture.convert("RGBA")
        if np.asarray(picture)[..., 3].min(initial=255) < 255:
            raise DataError(f"{path} has transparent pixels; put it on a background")
    elif picture.mode not in _PLAIN:
        raise DataError(
            f"{path} holds {picture.mode} pixels, which have no one meaning as bytes; save it as "
            "grey or RGB of 8 bits"
        )
    return np.asarray(picture.convert("L" if channels == 1 else "RGB"))
