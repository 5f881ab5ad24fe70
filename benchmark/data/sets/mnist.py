"""MNIST: 60,000 and 10,000 handwritten digits, 28x28 grey (LeCun et al. 1998)."""

from ..fetch import Archive
from ..formats import IdxSet

_HOST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


class Mnist(IdxSet):
    """The release as torchvision lays it out, `MNIST/raw/*-ubyte`, gzipped or not."""

    n_classes = 10
    folder = "MNIST/raw"
    md5 = _MD5
    archives = tuple(
        Archive(f"{_HOST}{name}.gz", size, md5, path=f"MNIST/raw/{name}.gz")
        for name, size, md5 in (
            ("train-images-idx3-ubyte", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            ("train-labels-idx1-ubyte", 28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
            ("t10k-images-idx3-ubyte", 1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
            ("t10k-labels-idx1-ubyte", 4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
        )
    )
