import gzip
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fedrepro.benchmark.data import find, load, names
from fedrepro.benchmark.data.base import ReleasedSet
from fedrepro.benchmark.data.formats import CifarSet
from fedrepro.benchmark.data.sets import fashion_excerpt
from fedrepro.benchmark.data.sets.cifar10 import Cifar10
from fedrepro.benchmark.data.sets.cifar100 import Cifar100
from fedrepro.benchmark.data.sets.stl10 import Stl10
from fedrepro.benchmark.errors import DataError
from tests.benchmark.data.releases import take_for_released
from tests.whole_torchvision import ensure_torchvision
from tools.excerpt import excerpt


@pytest.mark.parametrize("name", names())
def test_every_set_knows_its_name_and_where_its_files_are(name: str, tmp_path: Path) -> None:
    data = find(name)
    assert data.name == name
    if isinstance(data, ReleasedSet):
        assert all(archive.url.startswith("https://") for archive in data.archives)
        unpacked = {m for a in data.archives for m in a.members}
        kept = {a.path.removesuffix(".gz") for a in data.archives if a.path}
        for part in ("train", "test"):
            found = set(data.files(part))
            assert found <= unpacked | kept or kept == {"EMNIST/raw/gzip.zip"}
        with pytest.raises(DataError, match=rf"^{name}: .*{tmp_path}.*--data-dir.*--download"):
            load(name, "test", data_dir=tmp_path)


def test_digits_are_scikit_learns_stretched_to_bytes_in_disjoint_parts() -> None:
    from sklearn.datasets import load_digits

    held = load_digits()
    originals: dict[bytes, list[int]] = {}
    for image, label in zip(held.images, held.target, strict=True):
        stretched = np.round(image * 255 / 16 + 1e-9).astype(np.uint8)
        originals.setdefault(stretched.tobytes(), []).append(int(label))
    total = 0
    for part, size in (("train", 600), ("test", 500), ("unlabeled", 697)):
        portion = load("digits", part).portion
        assert portion.images.shape == (size, 1, 8, 8)
        labels = [None] * size if portion.labels is None else portion.labels.tolist()
        for image, label in zip(portion.images, labels, strict=True):
            left = originals[image.numpy().tobytes()]
            left.remove(left[0] if label is None else label)
            total += 1
    assert total == len(held.target) == 1797
    assert not any(originals.values())


def test_the_excerpt_has_as_many_of_each_class_and_no_image_twice() -> None:
    seen = set[bytes]()
    for part, size in (("train", 4000), ("test", 2000), ("unlabeled", 2000)):
        loaded = load("fashion-excerpt", part)
        assert loaded.is_release
        assert loaded.portion.images.shape == (size, 1, 28, 28)
        seen |= {image.numpy().tobytes() for image in loaded.portion.images}
        labels = loaded.portion.labels
        assert (labels is None) == (part == "unlabeled")
        if labels is not None:
            assert torch.bincount(labels).tolist() == [size // 10] * 10
    assert len(seen) == 8000


def test_a_changed_excerpt_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(fashion_excerpt.FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(fashion_excerpt, "FOLDER", tmp_path)
    labels = tmp_path / fashion_excerpt.LABELS
    content = bytearray(gzip.decompress(labels.read_bytes()))
    content[-1] ^= 1
    labels.write_bytes(gzip.compress(bytes(content)))
    fashion_excerpt._excerpt.cache_clear()
    with pytest.raises(DataError, match=r"labels-idx1-ubyte\.gz is not the file that comes"):
        load("fashion-excerpt", "train")
    fashion_excerpt._excerpt.cache_clear()


@pytest.mark.data
def test_the_excerpt_is_what_its_script_takes_from_the_release() -> None:
    try:
        made = excerpt()
    except DataError as error:
        pytest.skip(str(error))
    for name, content in made.items():
        assert gzip.decompress((fashion_excerpt.FOLDER / name).read_bytes()) == content


def test_noise_has_every_byte_as_often_and_nothing_else() -> None:
    loaded = {part: load("noise", part) for part in ("unlabeled", "train", "test")}
    for part, n in (("unlabeled", 6000), ("train", 6000), ("test", 4000)):
        images = loaded[part].portion.images
        assert images.shape == (n, 3, 28, 28)
        counts = torch.bincount(images.flatten().to(torch.int64), minlength=256)
        assert ((counts - images.numel() / 256).abs() < 5 * (images.numel() / 256) ** 0.5).all()
    assert loaded["unlabeled"].portion.labels is None
    assert torch.bincount(loaded["train"].portion.labels).tolist() == [600] * 10
    assert loaded["unlabeled"].checksum.startswith("27b66d5be236")
    assert len({one.checksum for one in loaded.values()}) == 3


@pytest.fixture
def stl10(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, NDArray[np.uint8]]:
    """A small STL-10 whose checksums are taken for the release's."""
    random = np.random.default_rng(0)
    folder = tmp_path / "stl10_binary"
    folder.mkdir()
    arrays = {
        "train_X.bin": random.integers(0, 256, (6, 3, 96, 96), dtype=np.uint8),
        "train_y.bin": np.array([1, 10, 3, 4, 5, 6], dtype=np.uint8),
        "unlabeled_X.bin": random.integers(0, 256, (4, 3, 96, 96), dtype=np.uint8),
    }
    for name, array in arrays.items():
        array.tofile(folder / name)
    take_for_released(monkeypatch, Stl10, folder.iterdir())
    return arrays


def test_stl10_is_upright_and_classes_count_from_zero(
    stl10: dict[str, NDArray[np.uint8]], tmp_path: Path
) -> None:
    loaded = load("stl10", "train", data_dir=tmp_path)
    assert np.array_equal(loaded.portion.images, stl10["train_X.bin"].transpose(0, 1, 3, 2))
    assert loaded.portion.labels is not None
    assert loaded.portion.labels.tolist() == [0, 9, 2, 3, 4, 5]
    assert loaded.is_release
    path = tmp_path / "stl10_binary" / "train_X.bin"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DataError, match=rf"{path} is not the release's file"):
        load("stl10", "train", data_dir=tmp_path)


def test_unlabelled_stl10_needs_no_other_file_and_is_not_changed(
    stl10: dict[str, NDArray[np.uint8]], tmp_path: Path
) -> None:
    (tmp_path / "stl10_binary" / "train_X.bin").unlink()
    portion = load("stl10", "unlabeled", data_dir=tmp_path, images=2).portion
    assert portion.labels is None
    assert len(portion) == 2
    portion.images.zero_()
    held = np.fromfile(tmp_path / "stl10_binary" / "unlabeled_X.bin", dtype=np.uint8)
    assert np.array_equal(held, stl10["unlabeled_X.bin"].ravel())


@pytest.fixture
def cifar10(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small CIFAR-10 whose checksums are taken for the release's."""
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    random = np.random.default_rng(0)
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        held: dict[str, Any] = {
            "data": random.integers(0, 256, (3, 3072), dtype=np.uint8),
            "labels": random.integers(0, 10, 3).tolist(),
        }
        (folder / name).write_bytes(pickle.dumps(held, protocol=2))
    take_for_released(monkeypatch, Cifar10, folder.iterdir())
    return folder


def test_cifar10_is_channels_first_in_order_of_its_batches(cifar10: Path, tmp_path: Path) -> None:
    batches = [pickle.loads((cifar10 / f"data_batch_{i}").read_bytes()) for i in range(1, 6)]
    loaded = load("cifar10", "train", data_dir=tmp_path)
    expected = np.concatenate([b["data"] for b in batches]).reshape(-1, 3, 32, 32)
    assert np.array_equal(loaded.portion.images, expected)
    assert loaded.portion.labels is not None
    assert loaded.portion.labels.tolist() == [n for b in batches for n in b["labels"]]
    assert loaded.is_release


@pytest.mark.parametrize("data", [Cifar10, Cifar100])
def test_cifars_files_and_checksums_are_those_that_torchvision_knows(data: type[CifarSet]) -> None:
    ensure_torchvision()
    from torchvision import datasets

    known = getattr(datasets, data.__name__.upper())
    assert data.md5 == dict([*known.train_list, *known.test_list])
    assert data.parts["train"] == tuple(name for name, _ in known.train_list)
    assert data.parts["test"] == tuple(name for name, _ in known.test_list)
    assert data.folder == known.base_folder


class _Pickled:
    """Leaves a trace if it is ever unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return (Path.touch, (self.trace,))


@pytest.mark.parametrize(
    ("is_known", "said"),
    [(False, r"is not the release's file \(MD5 "), (True, "cannot be read: it")],
)
def test_a_pickle_is_refused_by_its_checksum_and_else_if_it_asks_for_more_than_arrays(
    is_known: bool, said: str, cifar10: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cifar10 / "data_batch_3").write_bytes(pickle.dumps(_Pickled(tmp_path / "trace")))
    if is_known:
        take_for_released(monkeypatch, Cifar10, [cifar10 / "data_batch_3"])
    with pytest.raises(DataError, match=f"data_batch_3 {said}"):
        load("cifar10", "train", data_dir=tmp_path)
    assert not (tmp_path / "trace").exists()
