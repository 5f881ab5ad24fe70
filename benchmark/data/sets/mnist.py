"""MNIST: 60,000 and 10,000 handwritten digits, 28x28 grey (LeCun et al. 1998)."""

from ..formats import IdxSet


class Mnist(IdxSet):
    """The release as torchvision lays it out, `MNIST/raw/*-ubyte`, gzipped or not."""

    n_classes = 10
