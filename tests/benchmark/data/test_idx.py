import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fedrepro.benchmark.data import load
from fedrepro.benchmark.data.formats import IdxSet
from fedrepro.benchmark.data.sets.mnist import Mnist
from fedrepro.benchmark.errors import DataError
from tests.benchmark.data.releases import take_for_released
from tests.whole_torchvision import ensure_torchvision


def idx(array: NDArray[np.uint8]) -> bytes:
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


def write(root: Path, data: type[IdxSet], n: int = 20) -> dict[str, Path]:
    """Random images and labels in the layout of a set; the files by their names' endings."""
    random = np.random.default_rng(0)
    files = {}
    for part in data.parts:
        size = n if part == "train" else n // 2
        images = random.integers(0, 256, (size, 28, 28), dtype=np.uint8)
        labels = (np.arange(size) % data.n_classes).astype(np.uint8)
        for name, kind, array in zip(
            data().files(part), ("images", "labels"), (images, labels), strict=True
        ):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(idx(array))
            files[f"{part} {kind}"] = path
    return files


@pytest.fixture
def mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A small MNIST whose checksums are taken for the release's."""
    files = write(tmp_path, Mnist)
    take_for_released(monkeypatch, Mnist, files.values())
    return files


def assert_read_as_torchvision_does(part: str, folder: Path) -> int:
    """How many images were read."""
    ensure_torchvision()
    from torchvision.datasets import MNIST

    loaded = load("mnist", part, data_dir=folder)
    expected = MNIST(str(folder), train=part == "train", download=False)
    assert torch.equal(loaded.portion.images[:, 0], expected.data)
    assert loaded.portion.labels is not None
    assert torch.equal(loaded.portion.labels, expected.targets)
    assert (loaded.n_classes, loaded.is_release, loaded.note) == (10, True, None)
    return len(loaded.portion)


@pytest.mark.parametrize("part", ["train", "test"])
def test_files_are_read_as_torchvision_reads_them(
    part: str, mnist: dict[str, Path], tmp_path: Path
) -> None:
    assert_read_as_torchvision_does(part, tmp_path)


def test_gzipped_files_have_the_same_checksums(mnist: dict[str, Path], tmp_path: Path) -> None:
    packed = {name: path.with_name(f"{path.name}.gz") for name, path in mnist.items()}
    for name, path in mnist.items():
        packed[name].write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert load("mnist", "test", data_dir=tmp_path).is_release
    packed["test labels"].write_bytes(gzip.compress(idx(np.zeros(10, dtype=np.uint8))))
    with pytest.raises(DataError, match="not the release's file"):
        load("mnist", "test", data_dir=tmp_path)


def test_a_cut_off_file_is_named(mnist: dict[str, Path], tmp_path: Path) -> None:
    path = mnist["train images"]
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=f"{path} is damaged: 15,580 bytes of data, .* 15,680"):
        load("mnist", "train", data_dir=tmp_path)
    path.write_bytes(path.read_bytes()[:7])
    with pytest.raises(DataError, match=f"{path} is damaged: not an IDX file with 3 dimensions"):
        load("mnist", "train", data_dir=tmp_path)


@pytest.mark.data
@pytest.mark.parametrize("part", ["train", "test"])
def test_the_real_mnist_is_recognised_and_equals_torchvisions(part: str) -> None:
    folder = Path(os.environ.get("FEDREPRO_DATA", "data"))
    if not (folder / "MNIST" / "raw").is_dir():
        pytest.skip(f"no MNIST in {folder}")
    found = assert_read_as_torchvision_does(part, folder)
    assert found == (60_000 if part == "train" else 10_000)
