import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from fedrepro.benchmark.data import load
from fedrepro.benchmark.data.own import content
from fedrepro.benchmark.errors import DataError, MissingDataError

N, SIDE = 24, 4
SPLIT = np.array(["train", "test"])[np.arange(N) % 2]
LABELS = np.arange(N) // 2 % 3


def pictures(channels: int = 1) -> np.ndarray[Any, Any]:
    made = np.random.default_rng(0).integers(0, 256, (N, SIDE, SIDE, channels), dtype=np.uint8)
    return made[..., 0] if channels == 1 else made


def save_npz(folder: Path, **changed: Any) -> Path:
    held: Mapping[str, Any] = {"images": pictures(), "labels": LABELS, "split": SPLIT, **changed}
    given = {name: value for name, value in held.items() if value is not None}
    np.savez(folder / "own.npz", **given)
    return folder


def save_images(folder: Path, channels: int = 1) -> None:
    for i, image in enumerate(pictures(channels)):
        path = folder / "own" / SPLIT[i] / f"class-{LABELS[i]}" / f"{i:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)


@pytest.mark.parametrize("channels", [1, 3])
def test_every_format_gives_the_same_images_and_checksum(tmp_path: Path, channels: int) -> None:
    save_npz(tmp_path, images=pictures(channels))
    names = [f"{'rgb'[i % channels]}{i // channels}" for i in range(channels * SIDE**2)]
    table = pd.DataFrame(pictures(channels).reshape(N, -1), columns=names)
    table.assign(label=LABELS, split=SPLIT).to_csv(tmp_path / "own.csv", index=False)
    whole = content("own.npz", tmp_path)
    wanted = torch.from_numpy(pictures(channels).reshape(N, SIDE, SIDE, channels))
    test = wanted.permute(0, 3, 1, 2)[SPLIT == "test"]
    assert torch.equal(whole.parts["test"].images, test)
    assert whole.n_classes == 3
    name, _, checksum = whole.name.partition("#")
    assert (name, len(checksum)) == ("own.npz", 16)
    assert content("own.csv", tmp_path).name == f"own.csv#{checksum}"

    save_images(tmp_path, channels)  # by class, so in another order
    found = content("own/", tmp_path).parts["test"]
    of_folder, of_array = (
        sorted(zip(map(bytes, one.images.numpy()), one.labels.tolist(), strict=True))
        for one in (found, whole.parts["test"])
        if one.labels is not None
    )
    assert of_folder == of_array


@pytest.mark.parametrize(
    ("before", "mark", "behind", "index"),
    [("", ";", "", False), ("", "\t", "", True), ("\ufeffsep=;\r\n", ";", "", True),
     ("", ",", ",,", True)],
    ids=["semicolons", "tabs and an index", "sep=; and an index", "commas behind lines"],
)  # fmt: skip
def test_pixels_are_read_as_spreadsheets_and_data_frames_write_them(
    before: str, mark: str, behind: str, index: bool, tmp_path: Path
) -> None:
    table = pd.DataFrame(pictures().reshape(N, -1)).assign(label=LABELS, split=SPLIT)
    table.to_csv(tmp_path / "plain.csv", index=False)
    parts = (part for _, part in table.groupby("split"))
    text = pd.concat(parts).to_csv(sep=mark, index=index)
    lines = "".join(f"{line}{behind}\n" for line in text.splitlines())
    (tmp_path / "own.csv").write_text(before + lines, "utf-8")
    found, wanted = (content(f"{one}.csv", tmp_path).name for one in ("own", "plain"))
    assert found.partition("#")[2] == wanted.partition("#")[2]


def test_parts_and_halves_are_loaded_as_those_of_any_set(tmp_path: Path) -> None:
    save_npz(tmp_path, labels=np.array(["owl", "ant", "bee"])[LABELS])
    train = load("own.npz", "train", data_dir=tmp_path, image_size=8, channels=3)
    assert (len(train.portion), train.n_classes) == (12, 3)
    assert train.portion.images.shape == (12, 3, 8, 8)
    assert train.portion.labels is not None
    assert train.portion.labels[:3].tolist() == [2, 0, 1]  # in the order of their names
    halves = [load("own.npz", f"train-{half}", data_dir=tmp_path).portion for half in "ab"]
    assert list(map(len, halves)) == [6, 6]
    assert len(load("own.npz", "unlabeled", data_dir=tmp_path).portion) == 12
    split = np.where(np.arange(N) < 6, "unlabeled", SPLIT)
    save_npz(tmp_path, split=split, weights=np.ones(3))
    unlabelled = load("own.npz", "unlabeled", data_dir=tmp_path)
    assert (len(unlabelled.portion), unlabelled.portion.labels) == (6, None)
    assert unlabelled.note == "arrays that were not read: weights"


def test_a_name_with_a_checksum_is_held_to_it(tmp_path: Path) -> None:
    name = content("own.npz", save_npz(tmp_path)).name
    assert load(name, "train", data_dir=tmp_path).is_release
    save_npz(tmp_path, images=255 - pictures())
    other = content("own.npz", tmp_path).name
    assert other != name
    with pytest.raises(DataError, match=rf"^the data of own.npz#0{{16}} .* they are {other} now"):
        load(f"own.npz#{16 * '0'}", "train", data_dir=tmp_path)


def test_images_in_both_training_and_test_are_counted(tmp_path: Path) -> None:
    images = pictures()
    images[[0, 1, 3, 5]] = images[2]  # of the classes 0, 0, 1 and 2
    parts = content("own.npz", save_npz(tmp_path, images=images, more=LABELS)).parts
    other, said = "images also stand under another class", "test images are training images, too"
    assert parts["train"].note == f"arrays that were not read: more; 2 of 12 {other}"
    assert parts["test"].note == f"arrays that were not read: more; 3 of 12 {other}; 3 of 12 {said}"
    changed = {"labels": np.array(["-1", "A", "a"])[LABELS], "images": images // 16}
    changed["split"] = np.where(np.arange(N) < 4, "unlabeled", SPLIT)
    parts = content("own.npz", save_npz(tmp_path, **changed)).parts
    told = "labels taken as classes of their own: -1, A, a; the brightest pixel is 15 of 255"
    assert parts["train"].note == told
    assert parts["unlabeled"].note.endswith("; 4 of 4 unlabelled images are test images, too")
    save_images(tmp_path)
    (tmp_path / "own/test").rename(tmp_path / "other")
    (tmp_path / "own/test").symlink_to("train")
    assert content("own/", tmp_path).parts["test"].note == f"12 of 12 {said}"


def test_data_are_found_where_one_stands_and_else_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(save_npz(tmp_path))
    assert content("own.npz", tmp_path / "elsewhere").n_classes == 3
    with pytest.raises(MissingDataError, match=r"nowhere\.csv is neither in .*--data-dir"):
        content("nowhere.csv")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"labels": None}, "lacks the array 'labels'; it needs for each image"),
        ({"labels": LABELS[1:]}, "has 24 images, 23 labels, 24 entries of split"),
        ({"images": pictures() / 255.0}, r"must be uint8 \(0 to 255\), not float64"),
        ({"images": pictures() % 2}, r"must be uint8 \(0 to 255\), not 0 and 1 alone"),
        ({"images": pictures().reshape(N, -1)}, r"\(12, 16\) is no shape of images"),
        ({"images": pictures()[:, :1, :, None]}, r"\(12, 1, 4, 1\) is no shape of images"),
        ({"labels": np.array(["a  b", "a b", "b"])[LABELS]}, "alone tell labels 'a b' apart"),
        (
            {"labels": np.array(["o\u0308", "\u00f6", "b"])[LABELS]},
            "alone tell labels '\u00f6' apart",
        ),
        ({"split": np.full(N, "val")}, "has unknown parts: val; parts are train, test, unlabeled"),
        ({"split": np.full(N, "train")}, "no images in part 'test'"),
        ({"labels": np.where(SPLIT == "test", 3, LABELS)}, "only one has 0, 1, 2, 3"),
        ({"labels": np.array([None] * N)}, "cannot be read: ValueError: .*allow_pickle"),
        ({"labels": LABELS / 2}, "labels must be whole numbers or words"),
        ({"labels": np.stack([LABELS, LABELS], 1)}, "labels must be whole numbers or words"),
        ({"images": np.uint8(3)}, "cannot be read: TypeError"),
    ],
)
def test_arrays_that_are_no_data_set_are_refused(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError, match=rf"own\.npz.*{said}"):
        content("own.npz", save_npz(tmp_path, **changed))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("label,a\n1,2\n", "lacks the column 'split'"),
        ("label,split,a\n1,train,2.5\n", "whole numbers from 0 to 255"),
        ("label,split,a\n1,train,256\n", "whole numbers from 0 to 255"),
        ("label,split,a,b\n1,train,2,3\n", "2 pixels make no square image"),
        ("label,split,2x9,2x10,3x10,3x9\n1,train,1,2,3,4\n", "'3x9' stands too late: pixels go"),
        ("label,split,u0v0,u1v0,u0v1\n1,train,1,2,3\n", "'u0v1' stands too late"),
        ("label,split,red1,red2,green1,green2,blue1,blue2\n1,train,1,2,3,4,5,6\n", "'green1' st"),
        ("label,split,8B,8G,8R,9B,9G,9R\n1,train,1,2,3,4,5,6\n", "'8G' stands too late"),
        (",label,split,1,2,3\nx,1,train,1,2,3\n", "'Unnamed: 0' is named unlike most"),
        ("label,split,a\n1,train,2\n,test,2\n", "line 3: there is an empty cell"),
        ("sep=,\nlabel,split,a\n1,train,2\n,test,2\n", "line 4: there is an empty cell"),
        ("", "cannot be read: EmptyDataError"),
    ],
)
def test_tables_that_are_no_data_set_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "own.csv").write_text(text)
    with pytest.raises(DataError, match=rf"own\.csv.*{said}"):
        content("own.csv", tmp_path)


class Torchvisions(list[tuple[Image.Image, int]]):
    """As torchvision's sets: pairs, by a word for the part."""

    def __init__(self, root: str, split: str = "train", download: bool = False) -> None:
        if split == "train":
            raise ValueError("unknown split, known are trainval and test")
        if not (download or (Path(root) / "there").exists()):
            raise RuntimeError("Dataset not found")
        chosen = zip(pictures(3), LABELS, SPLIT, strict=True)
        of = split.removesuffix("val")
        super().__init__((Image.fromarray(i), int(c)) for i, c, part in chosen if part == of)


def test_torchvisions_set_is_taken_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(Own=Torchvisions)
    monkeypatch.setitem(sys.modules, "torchvision.datasets", module)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    with pytest.raises(DataError, match=r"torchvision:Own .*not found; --download fetches what is"):
        content("torchvision:Own", tmp_path)
    found = content("torchvision:Own", tmp_path, download=True)
    save_npz(tmp_path, images=pictures(3))
    assert found.name.split("#")[1] == content("own.npz", tmp_path).name.split("#")[1]
    with pytest.raises(DataError, match="no set of that name"):
        content("torchvision:Owl", tmp_path)


def save_hugging_face(place: Path, parts: Mapping[str, np.ndarray[Any, Any]], **more: str) -> None:
    """A `DatasetDict` of `parts`, by name which images they hold; `more`: further columns."""
    datasets = pytest.importorskip("datasets")
    words = datasets.ClassLabel(names=["a", "b", "c"])
    kinds = {"photo": datasets.Image(), "kind": words}
    kinds |= {
        name: words if kind == "class" else datasets.Value(kind) for name, kind in more.items()
    }
    made = {}
    for part, at in parts.items():
        photos = [Image.fromarray(one) for one in pictures()[at]]
        columns = {"photo": photos, **dict.fromkeys(("kind", *more), LABELS[at])}
        made[part] = datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))
    datasets.DatasetDict(made).save_to_disk(place)


HALVES = {part: part == SPLIT for part in ("train", "test")}


def test_what_hugging_face_has_saved_is_read(tmp_path: Path) -> None:
    save_hugging_face(tmp_path / "saved", HALVES, age="int64")
    save_npz(tmp_path)
    of_saved, of_arrays = (content(name, tmp_path) for name in ("saved/", "own.npz"))
    assert of_saved.name.split("#")[1] == of_arrays.name.split("#")[1]
    assert of_saved.parts["train"].note == "columns that were not read: age"


def test_parts_and_columns_of_hugging_face_that_nothing_reads_are_refused(tmp_path: Path) -> None:
    save_hugging_face(tmp_path / "three", {**HALVES, "validation": SPLIT == "test"})
    with pytest.raises(DataError, match="three has unknown parts: validation; parts are train, te"):
        content("three/", tmp_path)
    save_hugging_face(tmp_path / "classes", HALVES, coarse="class")
    with pytest.raises(DataError, match=r"one of classes.*; it has .*kind \(ClassLabel\), coarse"):
        content("classes/", tmp_path)


def test_folders_of_images_that_nothing_reads_are_refused_and_files_said(tmp_path: Path) -> None:
    save_images(tmp_path)
    (tmp_path / "own" / ".git").mkdir()
    (tmp_path / "own" / "licence.txt").write_text("x")
    said = "1 other file was not read (first licence.txt)"
    assert content("own/", tmp_path).parts["test"].note == said
    (tmp_path / "own" / "val").mkdir()
    with pytest.raises(DataError, match="own has unknown parts: val; parts are train, test, unlab"):
        content("own/", tmp_path)


@pytest.mark.parametrize(
    ("package", "name", "said"),
    [
        ("datasets", "saved/", "python -m pip install datasets"),
        ("torchvision.datasets", "torchvision:KMNIST", "install both at once: python -m pip"),
    ],
)
def test_without_its_package_a_set_says_what_to_install(
    package: str, name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/dataset_dict.json").write_text("{}")
    with pytest.raises(DataError, match=said):
        content(name, tmp_path)
