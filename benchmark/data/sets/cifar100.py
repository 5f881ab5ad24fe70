"""CIFAR-100: 50,000 and 10,000 photographs, 32x32 colour, fine labels (Krizhevsky 2009)."""

from ..formats import CifarSet


class Cifar100(CifarSet):
    """The release as torchvision lays it out, `cifar-100-python/`."""

    n_classes = 100
    labels = "fine_labels"
