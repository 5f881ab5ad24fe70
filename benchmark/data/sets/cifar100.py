"""CIFAR-100: 50,000 and 10,000 photographs, 32x32 colour, fine labels (Krizhevsky 2009)."""

from ..fetch import Archive
from ..formats import CifarSet

_FOLDER = "cifar-100-python"
_PARTS = {"train": ("train",), "test": ("test",)}
_MD5 = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
}


class Cifar100(CifarSet):
    """The release as torchvision lays it out, `cifar-100-python/`."""

    n_classes = 100
    folder = _FOLDER
    parts = _PARTS
    md5 = _MD5
    labels = "fine_labels"
    archives = (
        Archive(
            "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
            169_001_437,
            "eb9058c3a382ffc7106e4002c42a8d85",
            members=tuple(f"{_FOLDER}/{name}" for name in (*_MD5, "meta")),
        ),
    )
