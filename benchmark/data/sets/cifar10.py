"""CIFAR-10: 50,000 and 10,000 photographs, 32x32 colour (Krizhevsky 2009)."""

from ..fetch import Archive
from ..formats import CifarSet

_FOLDER = "cifar-10-batches-py"
_PARTS = {"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)}
_MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}


class Cifar10(CifarSet):
    """The release as torchvision lays it out, `cifar-10-batches-py/`."""

    n_classes = 10
    folder = _FOLDER
    parts = _PARTS
    md5 = _MD5
    labels = "labels"
    archives = (
        Archive(
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            170_498_071,
            "c58f30108f718f92721af3b95e74349a",
            members=tuple(f"{_FOLDER}/{name}" for name in (*_MD5, "batches.meta")),
        ),
    )
