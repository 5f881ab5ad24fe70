"""The four shapes that the engine is timed on: images, a stacked network, its torch.nn twin."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.nn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential

IMAGES, EPOCHS, BATCH = 50, 3, 32
N_CLASSES = 10


@dataclass(frozen=True)
class Shape:
    """name: for tables. model, module: new networks."""

    name: str
    channels: int
    side: int
    model: Callable[[], Classifier]
    module: Callable[[], nn.Sequential]


def cnn(channels: int, side: int, widths: tuple[int, ...], dim: int, padding: int) -> Classifier:
    encoder = CNN(widths=widths, dim=dim, padding=padding)
    return Classifier(encoder.build(channels, side), dim, dense_head(dim, (), N_CLASSES))


def cnn_module(
    channels: int, side: int, widths: tuple[int, ...], dim: int, padding: int
) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in widths:
        layers += [nn.Conv2d(channels, width, 3, 2, padding), nn.ReLU()]
        channels, side = width, (side + 2 * padding - 3) // 2 + 1
    layers += [nn.Flatten(), nn.Linear(channels * side**2, dim), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(dim, N_CLASSES))


def lenet() -> Classifier:
    """LeNet with 20 and 50 filters of 5x5 and 500 hidden units."""
    encoder = Sequential(
        Conv2d("encoder.conv0", 1, 20, 5),
        ReLU(),
        MaxPool2d(2, 2),
        Conv2d("encoder.conv1", 20, 50, 5),
        ReLU(),
        MaxPool2d(2, 2),
        Flatten(),
        Linear("encoder.dense", 800, 500),
        ReLU(),
    )
    return Classifier(encoder, 500, dense_head(500, (), N_CLASSES))


def lenet_module() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 20, 5),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(20, 50, 5),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, N_CLASSES),
    )


def of_cnn(
    name: str,
    channels: int,
    side: int,
    widths: tuple[int, ...],
    dim: int,
    padding: int,
) -> Shape:
    built = (channels, side, widths, dim, padding)
    return Shape(name, channels, side, lambda: cnn(*built), lambda: cnn_module(*built))


SHAPES = {
    shape.name: shape
    for shape in (
        of_cnn("8x8 digits", 1, 8, (16, 32, 48, 64), 64, 1),
        Shape("28x28 LeNet", 1, 28, lenet, lenet_module),
        of_cnn("32x32 four layers", 3, 32, (64, 128, 192, 256), 256, 1),
        of_cnn("96x96 CP-CFL", 3, 96, (64, 128, 192, 256), 256, 0),
    )
}


def federation(shape: Shape, sizes: list[int]) -> Federation:
    """Noise with labels that half of the pixels tell; clients of these sizes."""
    stream = torch.Generator().manual_seed(0)
    total = sum(sizes)
    size = (total, shape.channels, shape.side, shape.side)
    images = torch.randint(0, 256, size, generator=stream)
    labels = torch.randint(0, N_CLASSES, (total,), generator=stream)
    means = torch.randint(0, 256, (N_CLASSES, *size[1:]), generator=stream)
    portion = ImageSet(((images + means[labels]) // 2).to(torch.uint8), labels)
    own = torch.arange(total).split(sizes)
    return Federation(portion, portion, own, own, torch.zeros(len(sizes)).long(), N_CLASSES)
