"""Data of one's own: files in the data folder, or where one stands, and sets of other packages.

    `own.npz`              arrays `images`, `labels` and `split` (`train`, `test` or `unlabeled`).
    `own.csv`              columns `label` and `split`, and one a pixel (row by row, RGB in turn).
    `folder/`              images in `train/<class>/`, `test/<class>/` and perhaps `unlabeled/`, or
                           what Hugging Face's `save_to_disk` has written.
    `torchvision:KMNIST`   a labelled set of torchvision, by the name of its class.

A name may end in `#` and the `checksum` of the content, to which the content is held then. Plans
add it, so that a run of other data is another run.
Evidence: `tests/benchmark/data/test_own.py`.
"""

import hashlib
import importlib
import inspect
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...methods.registry import installed, told
from ..data_names import is_file, plain
from ..errors import DataError, FedreproError, MissingDataError
from ..spec.csv_text import SEPARATOR
from .base import Part, Stored, data_folder
from .folder import files_beside, read_folder, told_of
from .loading import find

PARTS: tuple[Part, ...] = ("train", "test", "unlabeled")
_NEEDS = "for each image, images (uint8), a label and split ('train', 'test' or 'unlabeled')"
_RawPart = tuple[NDArray[Any], NDArray[Any], str | None]
"""Images in a usual layout, labels, which may be words, and what a reader must know."""
RawParts = dict[Part, _RawPart]


@dataclass(frozen=True)
class Content:
    """All that a set of one's own holds. `name`: with the checksum of the content."""

    name: str
    parts: Mapping[Part, Stored]
    n_classes: int


_held: dict[tuple[str, Path], Content] = {}


def content(name: str, data_dir: Path | None = None, download: bool = False) -> Content:
    """What a set of one's own holds; read once in a process for a name with a checksum. Raises
    `DataError` if it is missing, cannot be read, or is not what the checksum promises."""
    folder = data_folder(data_dir)
    if (name, folder) in _held:
        return _held[name, folder]
    own = plain(name)
    try:
        parts, n_classes = _numbered(own, _read(own, folder, download))
    except FedreproError:
        raise
    except (Exception, SystemExit) as error:  # whatever a stranger's file or code raises
        hint = "; --download fetches what is missing" if own.startswith("torchvision:") else ""
        said = told(error, [installed("data set").get(own, own)])
        raise DataError(f"{own} cannot be read: {said}{hint}") from error
    found = f"{own}#{checksum(parts)}"
    if name not in (own, found):
        raise DataError(f"the data of {name} have changed: they are {found} now")
    if len(_held) > 1:
        _held.clear()
    _held[found, folder] = Content(found, parts, n_classes)
    return _held[found, folder]


def checksum(parts: Mapping[Part, Stored]) -> str:
    """16 hexadecimal digits of the SHA-256 over shapes, images and labels of all parts."""
    digest = hashlib.sha256()
    for part, one in sorted(parts.items()):
        digest.update(f"{part} {tuple(one.images.shape)}".encode())
        for held in (one.images, one.labels):
            digest.update(b"" if held is None else held.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def _numbered(name: str, found: RawParts) -> tuple[dict[Part, Stored], int]:
    """Parts with classes in the order of their numbers or names, and how many there are."""
    for part in PARTS[:2]:
        images, labels, _ = found.get(part, ((), np.empty(0), None))
        if not len(images):
            raise DataError(f"{name} has no images in part '{part}'; it needs train and test")
        if labels.shape != (len(images),) or labels.dtype.kind not in "biuSU":
            raise DataError(f"{name}: labels must be whole numbers or words, one for each image")
    classes, tested = (np.unique(found[part][1]) for part in PARTS[:2])
    if apart := sorted({*map(str, classes)} ^ {*map(str, tested)}):
        said = f"only one has {', '.join(apart[:6])}"
        raise DataError(f"{name}: train and test must have the same classes; {said}")
    words = [unicodedata.normalize("NFC", " ".join(str(one).split())) for one in classes]
    if twice := [word for word, n in Counter(words).items() if n > 1]:
        raise DataError(f"{name}: spaces or Unicode forms alone tell labels '{twice[0]}' apart")
    cases = Counter(map(str.casefold, words))
    alone = [word for word in words if word[:1] == "-" or cases[word.casefold()] > 1]
    of_labels = f"labels taken as classes of their own: {', '.join(alone[:6])}" if alone else None
    planes = {part: _planes(name, one[0]) for part, one in found.items()}
    if len(shapes := {one.shape[1:] for one in planes.values()}) > 1:
        raise DataError(f"{name}: its parts hold images of several shapes: {sorted(shapes)}")
    known, parts = set[bytes](), dict[Part, Stored]()
    for part in (one for one in PARTS if one in found):
        _, labels, note = found[part]
        labelled, notes = None, [*filter(None, (note, of_labels))]
        held = [hashlib.sha256(one.tobytes()).digest() for one in planes[part]]
        if 0 < (most := planes[part].max(initial=0)) < 128:
            notes.append(f"the brightest pixel is {most} of 255")
        if part != "unlabeled":
            labelled = torch.from_numpy(np.searchsorted(classes, labels))
            classes_of = Counter(one for one, _ in {*zip(held, labels.tolist(), strict=True)})
            if mixed := sum(classes_of[one] > 1 for one in held):
                notes.append(f"{mixed} of {len(held)} images also stand under another class")
        if same := sum(one in known for one in held):
            also = "test images are training" if part == "test" else "unlabelled images are test"
            notes.append(f"{same} of {len(held)} {also} images, too")
        known = {*held}  # of the part before
        # What a checksum names is what was meant, whatever its maker says of releases.
        own = torch.from_numpy(planes[part]), labelled, True, name, "; ".join(notes) or None
        parts[part] = Stored(*own)
    return parts, len(classes)


def _planes(name: str, images: NDArray[Any]) -> NDArray[np.uint8]:
    """Images as n x channels x height x width; colour images without colour have one channel."""
    if images.dtype != np.uint8 or (images.size and images.max() < 2):
        held = "0 and 1 alone" if images.dtype == np.uint8 else images.dtype
        raise DataError(
            f"{name}: images must be uint8 (0 to 255), not {held}; of numbers from 0 to 1 make "
            "(255 * images).round().astype('uint8')"
        )
    colour = [axis for axis in (1, 3) if images.ndim == 4 and images.shape[axis] in (1, 3)]
    if images.ndim != 3 and len(colour) != 1:  # of two, which is meant is not said
        raise DataError(
            f"{name}: {images.shape} is no shape of images, which is n x height x width for grey "
            "ones, n x height x width x 3 for colour, and more than 3 pixels a side"
        )
    planes = images[:, None] if images.ndim == 3 else np.moveaxis(images, colour[0], 1)
    is_grey = bool((planes == planes[:, :1]).all())
    return np.ascontiguousarray(planes[:, :1] if is_grey else planes)


def _read(name: str, folder: Path, download: bool) -> RawParts:
    if not is_file(name):
        data = find(name)
        read = {part: data.read(part, folder, download) for part in PARTS[: 2 + data.has_unlabeled]}
        return {part: _found(one.images, one.labels, one.note) for part, one in read.items()}
    if name.startswith("torchvision:"):
        return _of_torchvision(name, folder, download)
    where = next((at for at in (folder / name, Path(name)) if at.exists()), None)
    if where is None:
        raise MissingDataError(
            f"{name} is neither in {folder.absolute()} nor in {Path.cwd()}; name the folder that "
            "holds it with --data-dir (or FEDREPRO_DATA)"
        )
    if where.is_dir():
        is_hugging = any((where / f"dataset_{end}.json").is_file() for end in ("dict", "info"))
        return _of_hugging_face(where) if is_hugging else _of_images(where)
    return _of_npz(where) if name.endswith(".npz") else _of_csv(where)


def _of_npz(file: Path) -> RawParts:
    with np.load(file, allow_pickle=False) as held:
        arrays = {name: held[name] for name in held.files}
    wanted = ("images", "labels", "split")
    if lacking := [name for name in wanted if name not in arrays]:
        raise DataError(f"{file} lacks the array '{lacking[0]}'; it needs {_NEEDS}")
    images, labels, split = (arrays.pop(name) for name in wanted)
    note = f"arrays that were not read: {', '.join(arrays)}" if arrays else None
    return _by_split(file, images, labels, split, note)


def _of_csv(file: Path) -> RawParts:
    import pandas as pd

    with file.open(encoding="utf-8-sig") as text:
        first = text.readline()
    named = SEPARATOR.match(first)
    mark = named[1] if named else max(",;\t", key=first.count)
    table = pd.read_csv(file, sep=mark, skiprows=(skipped := int(named is not None)))
    for i, name in enumerate(map(str, table)):  # an index, or what marks at the ends of lines make
        is_spare = table[name].isna().all() or (i == 0 and table[name].dtype.kind == "i")
        table = table.drop(columns=name) if is_spare and name == f"Unnamed: {i}" else table
    if lacking := [name for name in ("label", "split") if name not in table]:
        said = "it needs label, split ('train', 'test') and a column for each pixel"
        raise DataError(f"{file} lacks the column '{lacking[0]}'; {said}")
    if (empty := table.isna().any(axis=1)).any():
        raise DataError(f"{file}, line {2 + skipped + int(empty.argmax())}: there is an empty cell")
    pictures = table.drop(columns=["label", "split"])
    _refuse_disorder(file, list(map(str, pictures)))
    pixels = pictures.to_numpy()
    if pixels.dtype.kind not in "iu" or not ((pixels >= 0) & (pixels <= 255)).all():
        raise DataError(f"{file}: pixels must be whole numbers from 0 to 255, in every line")
    labels = table["label"].to_numpy()
    words = labels.astype(str) if labels.dtype.kind == "O" else labels
    for channels, note in (1, None), (3, "red, green and blue are taken from columns in turn"):
        side = math.isqrt(pixels.shape[1] // channels)
        if side and channels * side**2 == pixels.shape[1]:
            images = pixels.astype(np.uint8).reshape(-1, side, side, channels)
            return _by_split(file, images, words, table["split"], note)
    raise DataError(f"{file}: {pixels.shape[1]} pixels make no square image; save it as .npz")


def _refuse_disorder(file: Path, names: Sequence[str]) -> None:
    """`DataError` if a column is named as no pixel, or as one that goes before its neighbour."""
    kinds = Counter(re.sub(r"\d+", "#", name) for name in names)
    most, places = max(kinds.values(), default=0), list[tuple[list[int], list[int]]]()
    for name in names:
        if kinds[kind := re.sub(r"\d+", "#", name)] < most:
            said = "is named unlike most: leave it out, or name it as them if it is a pixel"
            raise DataError(f"{file}: column '{name}' {said}")
        # Of r, g, b and of red, green, blue, the first is the last in the alphabet.
        colour = [-ord(letter) for letter in kind] if len(kinds) == 3 else []
        place = [int(one) for one in re.findall(r"\d+", name)], colour
        if places and place < places[-1]:
            said = "stands too late: pixels go row by row, in colour as r0 g0 b0 r1"
            raise DataError(f"{file}: column '{name}' {said}, and numbers in their names rise")
        places.append(place)


def _by_split(
    file: Path, images: NDArray[Any], labels: Any, split: Any, note: str | None = None
) -> RawParts:
    if not len(images) == len(labels) == len(split):
        counts = f"{len(images)} images, {len(labels)} labels, {len(split)} entries of split"
        raise DataError(f"{file} has {counts}; it needs {_NEEDS}")
    words = np.asarray(split).astype(str)
    _refuse_others(file, words.tolist())
    chosen = {part: words == part for part in PARTS if part in words}
    return {part: (images[at], np.asarray(labels)[at], note) for part, at in chosen.items()}


def _found(images: Tensor, labels: Tensor | None, note: str | None) -> _RawPart:
    return images.numpy(), np.empty(0) if labels is None else labels.numpy(), note or None


def _refuse_others(where: Path, named: Iterable[str]) -> None:
    if unknown := sorted({*named} - {*PARTS}):
        raise DataError(
            f"{where} has unknown parts: {', '.join(unknown[:6])}; parts are {', '.join(PARTS)}: "
            "rename the others or leave them out"
        )


def _of_images(where: Path) -> RawParts:
    found: RawParts = {}
    _refuse_others(where, (one.name for one in where.glob("[!.]*") if one.is_dir()))
    beside = told_of(files_beside(where), where)
    for part in PARTS:
        if (where / part).is_dir():
            n_classes = None if part == "unlabeled" else 0
            images, labels, note = read_folder(where / part, 3, n_classes)
            found[part] = _found(images, labels, "; ".join(filter(None, (note, beside))))
    return found


def _of_hugging_face(where: Path) -> RawParts:
    try:
        held = importlib.import_module("datasets").load_from_disk(str(where))
    except ImportError as error:
        said = "was saved by Hugging Face's package, which must read it"
        raise DataError(f"{where} {said}: python -m pip install datasets ({error})") from error
    if not isinstance(held, dict):
        raise DataError(f"{where} holds one part; save a DatasetDict with train and test")
    _refuse_others(where, held)
    found: RawParts = {}
    for part in (one for one in PARTS if one in held):
        kinds = {name: type(kind).__name__ for name, kind in held[part].features.items()}
        pictures = [name for name, kind in kinds.items() if kind == "Image"]
        labels = [name for name, kind in kinds.items() if kind == "ClassLabel"]
        if "label" in kinds and ("label" in labels or not labels):
            labels = ["label"]
        if len(pictures) != 1 or len(labels) != 1:
            raise DataError(
                f"{where}, {part}: it needs one column of images, and one of classes or called "
                f"'label'; it has {', '.join(f'{name} ({kind})' for name, kind in kinds.items())}"
            )
        images = _stacked(str(where), held[part][pictures[0]])
        others = ", ".join(name for name in kinds if name not in (*pictures, *labels))
        note = f"columns that were not read: {others}" if others else None
        found[part] = images, np.asarray(held[part][labels[0]]), note
    return found


def torchvision_sets() -> Any:
    """The module of torchvision's sets; `DataError` with what to do if it cannot be imported."""
    try:
        return importlib.import_module("torchvision.datasets")
    except (ImportError, RuntimeError) as error:
        raise DataError(
            f"torchvision cannot be imported ({error}): its build must fit torch's; install both "
            "at once: python -m pip install --force-reinstall torch torchvision"
        ) from error


def _of_torchvision(name: str, folder: Path, download: bool) -> RawParts:
    cls: Any = getattr(torchvision_sets(), name.partition(":")[2], None)
    takes = inspect.signature(cls).parameters if inspect.isclass(cls) else {}
    if not {"train", "split"} & {*takes}:
        raise DataError(f"{name}: torchvision has no set of that name with parts train and test")
    given = {"download": download} if "download" in takes else {}
    found: RawParts = {}
    for part, other in zip(PARTS[:2], ("trainval", "val"), strict=True):
        way = {"train": part == "train"} if "train" in takes else {"split": part}
        try:
            held = cls(root=str(folder), **given, **way)
        except ValueError:  # another word for the part
            held = cls(root=str(folder), **given, split=other)
        pictures, labels = zip(*(held[i] for i in range(len(held))), strict=True)
        found[part] = _stacked(name, pictures), np.asarray(list(map(int, labels))), None
    return found


def _stacked(name: str, pictures: Iterable[Any]) -> NDArray[np.uint8]:
    """Pillow's images, n x height x width x 3."""
    arrays = [np.asarray(picture.convert("RGB")) for picture in pictures]
    if len({one.shape for one in arrays}) > 1:
        raise DataError(f"{name}: images have several sizes; bring all to one, and save as .npz")
    return np.stack(arrays) if arrays else np.empty((0, 1, 1, 3), np.uint8)
