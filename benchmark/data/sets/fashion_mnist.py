"""Fashion-MNIST: 60,000 and 10,000 pieces of clothing, 28x28 grey (Xiao et al. 2017)."""

from pathlib import Path

from ..fetch import Archive
from ..formats import IdxSet

# The authors' repository: their storage bucket, which torchvision uses, has no HTTPS.
_HOST = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
_MD5 = {
    "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
    "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
    "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
    "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
}


class FashionMnist(IdxSet):
    """The release as torchvision lays it out, `FashionMNIST/raw/*-ubyte`, gzipped or not.

    Debian's package has the same files, gzipped anew.
    """

    n_classes = 10
    folder = "FashionMNIST/raw"
    md5 = _MD5
    package = ("dataset-fashion-mnist", Path("/usr/share/datasets/fashion-mnist"))
    archives = tuple(
        Archive(f"{_HOST}{name}.gz", size, md5, path=f"FashionMNIST/raw/{name}.gz")
        for name, size, md5 in (
            ("train-images-idx3-ubyte", 26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
            ("train-labels-idx1-ubyte", 29_515, "25c81989df183df01b3e8a0aad5dffbe"),
            ("t10k-images-idx3-ubyte", 4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
            ("t10k-labels-idx1-ubyte", 5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
        )
    )
