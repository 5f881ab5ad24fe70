"""CIFAR-10: 50,000 and 10,000 photographs, 32x32 colour (Krizhevsky 2009)."""

from ..formats import CifarSet


class Cifar10(CifarSet):
    """The release as torchvision lays it out, `cifar-10-batches-py/`."""

    n_classes = 10
    labels = "labels"
