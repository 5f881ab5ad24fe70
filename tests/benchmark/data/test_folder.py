from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from PIL import Image

from fedrepro.benchmark.data import folder as module
from fedrepro.benchmark.errors import DataError

CLASSES = ["airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"]


class Read(NamedTuple):
    images: torch.Tensor
    labels: torch.Tensor | None
    passed: str


def read(folder: Path, part: str = "train", n_classes: int = 10) -> Read:
    wanted = None if part == "unlabeled" else n_classes
    return Read(*module.read_folder(folder / "stl10" / part, 3, wanted))


def save(path: Path, value: int, size: int = 6, mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((size, size, 3), value, dtype=np.uint8)
    pixels[0, 1] = (255, 0, 0)
    Image.fromarray(pixels).convert(mode).save(path)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """STL-10 as image folders: two images of each class, the class number as their shade."""
    for label, name in enumerate(CLASSES):
        for i in range(2):
            save(tmp_path / "stl10" / "train" / name / f"{i}.png", 20 * label + i)
    save(tmp_path / "stl10" / "unlabeled" / "a" / "0.png", 7)
    save(tmp_path / "stl10" / "unlabeled" / "1.png", 9)
    return tmp_path


def test_images_and_classes_are_read_in_the_order_of_names(photos: Path) -> None:
    loaded = read(photos)
    assert loaded.labels is not None
    assert loaded.labels.tolist() == [label for label in range(10) for _ in range(2)]
    shades = [20 * label + i for label in range(10) for i in range(2)]
    assert loaded.images[:, 2, 5, 5].tolist() == shades
    assert loaded.images[3, :, 0, 1].tolist() == [255, 0, 0]


def test_class_folders_that_are_numbers_are_ordered_as_numbers(tmp_path: Path) -> None:
    for label in range(100):
        save(tmp_path / "stl10" / "train" / str(label) / "x.png", label)
    loaded = read(tmp_path, n_classes=100)
    assert loaded.images[:, 0, 5, 5].tolist() == list(range(100))


def test_files_that_are_no_images_are_left_out_and_said(photos: Path) -> None:
    ship = photos / "stl10" / "train" / "ship"
    for name in ("Thumbs.db", "._0.png", "notes.txt"):
        (ship / name).write_text("x")
    (photos / "stl10" / "train" / ".hidden").mkdir()
    loaded = read(photos)
    assert len(loaded.images) == 20
    assert loaded.passed == "3 other files were not read (first train/ship/._0.png)"
    (ship.parent / "readme.txt").write_text("x")
    assert read(photos).passed == "4 other files were not read (first train/readme.txt)"


def test_hidden_folders_hold_no_unlabelled_images(photos: Path) -> None:
    save(photos / "stl10" / "unlabeled" / ".trash" / "2.png", 3)
    assert len(read(photos, "unlabeled").images) == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ship/2.heic", "a format that is not read"),
        ("ship/more/2.png", "a folder inside of a class"),
        ("2.png", r"2\.png is next to the folders of images"),
    ],
)
def test_images_that_would_be_left_out_are_an_error(photos: Path, name: str, said: str) -> None:
    path = photos / "stl10" / "train" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")
    with pytest.raises(DataError, match=said):
        read(photos)


@pytest.mark.parametrize("other", ["Ship", "whale"])
def test_parts_that_name_other_classes_are_refused(photos: Path, other: str) -> None:
    for name in CLASSES:
        save(photos / "stl10" / "test" / (other if name == "ship" else name) / "0.png", 5)
    with pytest.raises(DataError, match=f"name other classes: {min(other, 'ship')}, "):
        read(photos)
    with pytest.raises(DataError, match="name other classes"):
        read(photos, "test")


def test_images_are_turned_as_their_camera_says(photos: Path) -> None:
    path = photos / "stl10" / "train" / "ship" / "0.png"
    upright = Image.open(path).copy()
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned a quarter
    upright.rotate(90, expand=True).save(path, exif=exif)
    loaded = read(photos)
    assert loaded.images[16].permute(1, 2, 0).tolist() == np.asarray(upright).tolist()


def test_a_file_of_several_images_is_refused(photos: Path) -> None:
    frames = [Image.new("RGB", (6, 6), colour) for colour in ("red", "blue")]
    path = photos / "stl10" / "train" / "ship" / "1.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:])
    with pytest.raises(DataError, match=f"{path} holds 2 images"):
        read(photos)


def test_a_damaged_image_and_one_of_another_size_are_named(photos: Path) -> None:
    path = photos / "stl10" / "train" / "ship" / "1.png"
    save(path, 1, size=7)
    with pytest.raises(DataError, match=f"{path} has 7x7 pixels .* has 6x6"):
        read(photos)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match=f"{path} cannot be decoded"):
        read(photos)


def test_a_missing_class_and_empty_folders_are_said(photos: Path) -> None:
    for image in (photos / "stl10" / "train" / "ship").iterdir():
        image.unlink()
    with pytest.raises(DataError, match=r"train/ship holds no images"):
        read(photos)
    (photos / "stl10" / "train" / "ship").rmdir()
    with pytest.raises(DataError, match="holds 9 class folders, the set has 10"):
        read(photos)
    for image in (photos / "stl10" / "unlabeled").rglob("*.png"):
        image.unlink()
    with pytest.raises(DataError, match="holds no images"):
        read(photos, "unlabeled")
