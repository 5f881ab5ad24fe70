"""CIFAR-10: 50,000 and 10,000 photographs, 32x32 colour (Krizhevsky 2009)."""

from __future__ import annotations

from fedrepro.benchmark.data.cifar import CifarSet
from fedrepro.benchmark.data.fetch import Archive

_BATCHES = {"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)}
_META = "batches.meta"


class Cifar10(CifarSet):
    """The release as torchvision lays it out, `cifar-10-batches-py/`."""

    n_classes = 10
    folder = "cifar-10-batches-py"
    batches = _BATCHES
    meta = _META
    reader = "CIFAR10"
    archives = (
        Archive(
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            170_498_071,
            "c58f30108f718f92721af3b95e74349a",
            members={
                f"cifar-10-batches-py/{name}": f"cifar-10-batches-py/{name}"
                for name in (*_BATCHES["train"], *_BATCHES["test"], _META)
            },
        ),
    )
