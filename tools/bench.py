"""What is timed: a round of FedAvg by the engine, by a plain tight loop, and centrally.

The central one, over as many images in big batches, is what the arithmetic alone costs here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, weighted_average
from fedrepro.methods.training.local import train_clients
from fedrepro.methods.training.local_loss import LocalOptions
from fedrepro.methods.training.steps import ENGINES_CHOICE, Grouping

CLIENTS, IMAGES, EPOCHS, BATCH, BIG_BATCH = 10, 50, 3, 32, 256
LEARNING_RATE, N_CLASSES = 1e-3, 10


class Shape(NamedTuple):
    """Images, and the convolutional network that learns from them."""

    channels: int
    side: int
    widths: tuple[int, ...]
    dim: int
    padding: int = 1

    def model(self) -> Classifier:
        encoder = CNN(widths=self.widths, dim=self.dim, padding=self.padding)
        built = encoder.build(self.channels, self.side)
        return Classifier(built, self.dim, dense_head(self.dim, (), N_CLASSES))

    def module(self) -> nn.Sequential:
        """Its torch.nn twin, with the same first weights."""
        layers, channels, side = list[nn.Module](), self.channels, self.side
        for width in self.widths:
            layers += [nn.Conv2d(channels, width, 3, 2, self.padding), nn.ReLU()]
            channels, side = width, (side + 2 * self.padding - 3) // 2 + 1
        layers += [nn.Flatten(), nn.Linear(channels * side**2, self.dim), nn.ReLU()]
        module = nn.Sequential(*layers, nn.Linear(self.dim, N_CLASSES))
        state = self.model().new(torch.Generator().manual_seed(0))
        with torch.no_grad():
            for mine, theirs in zip(module.parameters(), state.values(), strict=True):
                mine.copy_(theirs[0])
        return module

    def federation(self) -> Federation:
        """Noise with labels that half of the pixels tell."""
        stream, total = torch.Generator().manual_seed(0), CLIENTS * IMAGES
        size = (total, self.channels, self.side, self.side)
        images = torch.randint(0, 256, size, generator=stream)
        labels = torch.randint(0, N_CLASSES, (total,), generator=stream)
        means = torch.randint(0, 256, (N_CLASSES, *size[1:]), generator=stream)
        portion = ImageSet(((images + means[labels]) // 2).to(torch.uint8), labels)
        own = torch.arange(total).split(IMAGES)
        return Federation(portion, portion, own, own, torch.zeros(CLIENTS).long(), N_CLASSES)


SHAPES = {
    "8x8 digits": Shape(1, 8, (16, 32, 48, 64), 64),
    "32x32 four layers": Shape(3, 32, (64, 128, 192, 256), 256),
    "96x96 CP-CFL": Shape(3, 96, (64, 128, 192, 256), 256, padding=0),
}


def rounds(shape: Shape) -> dict[str, Callable[[], Any]]:
    """A round of ten clients by name: the limit, a plain loop, the engine with its choices."""
    data = shape.federation()
    return {
        "central": central_round(shape, data),
        "plain loop": plain_round(shape, data),
        "engine": engine_round(shape, data),
        "engine, one after the other": engine_round(shape, data, Grouping(1)),
        "engine, ten as one step": engine_round(shape, data, Grouping(10)),
    }


def engine_round(
    shape: Shape, data: Federation, grouping: Grouping = ENGINES_CHOICE
) -> Callable[[], State]:
    """A round by the engine: local training of all clients and the average."""
    model = shape.model()
    pool = model.new(torch.Generator().manual_seed(0))
    clients = torch.arange(data.n_clients)
    choice = torch.zeros_like(clients)
    options = LocalOptions(epochs=EPOCHS, batch_size=BATCH, learning_rate=LEARNING_RATE)

    def run() -> State:
        trained = train_clients(
            model, pool, choice, data, clients, options, Seeds(0), 0, grouping=grouping
        )
        return weighted_average(trained, data.sizes().double().unsqueeze(0))

    return run


def plain_round(shape: Shape, data: Federation) -> Callable[[], list[Tensor]]:
    """The tight loop that a user would write: index tensors, one module, a fused optimiser."""
    module = shape.module()
    initial = [value.detach().clone() for value in module.parameters()]
    sizes = data.sizes().tolist()

    def run() -> list[Tensor]:
        total = [torch.zeros_like(value) for value in initial]
        for client, own in enumerate(data.train_of):
            with torch.no_grad():
                torch._foreach_copy_(list(module.parameters()), initial)
            train(module, data, own, BATCH, Seeds(0).generator("batches", 0, client))
            share = sizes[client] / sum(sizes)
            torch._foreach_add_(total, [p.detach() for p in module.parameters()], alpha=share)
        return total

    return run


def central_round(shape: Shape, data: Federation) -> Callable[[], None]:
    everything, module = torch.cat(data.train_of), shape.module()
    stream = torch.Generator().manual_seed(0)
    return lambda: train(module, data, everything, BIG_BATCH, stream)


def train(
    module: nn.Sequential, data: Federation, own: Tensor, batch_size: int, stream: torch.Generator
) -> None:
    assert data.train.labels is not None
    images, labels = data.train.images, data.train.labels
    steps = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE, fused=True)
    for _ in range(EPOCHS):
        for batch in own[torch.randperm(len(own), generator=stream)].split(batch_size):
            x = images[batch].float().div_(255)
            steps.zero_grad(set_to_none=True)
            F.cross_entropy(module(x), labels[batch]).backward()
            steps.step()
