"""Fashion-MNIST: 60,000 and 10,000 pieces of clothing, 28x28 grey (Xiao et al. 2017)."""

from ..formats import IdxSet


class FashionMnist(IdxSet):
    """The release as torchvision lays it out, `FashionMNIST/raw/*-ubyte`, gzipped or not."""

    n_classes = 10
