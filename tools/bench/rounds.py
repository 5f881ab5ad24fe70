"""One round of FedAvg: by the engine, by a plain tight loop, and centrally in big batches.

All three pass over the same number of images. The central one is the limit: what the arithmetic
alone costs on this machine.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedrepro.methods.data.federation import Federation
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, weighted_average
from fedrepro.methods.training.local import train_clients
from fedrepro.methods.training.local_loss import LocalOptions
from fedrepro.methods.training.steps import ENGINES_CHOICE, Grouping
from tools.bench.shapes import BATCH, EPOCHS, Shape

LEARNING_RATE = 1e-3
BIG_BATCH = 256


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


def as_module(shape: Shape, state: State) -> nn.Sequential:
    """The torch.nn twin with the weights of a single model."""
    module = shape.module()
    with torch.no_grad():
        for mine, theirs in zip(module.parameters(), state.values(), strict=True):
            mine.copy_(theirs[0])
    return module


def plain_round(shape: Shape, data: Federation) -> Callable[[], list[Tensor]]:
    """The tight loop that a user would write: index tensors, one module, a fused optimiser."""
    module = as_module(shape, shape.model().new(torch.Generator().manual_seed(0)))
    initial = [value.detach().clone() for value in module.parameters()]
    sizes = data.sizes().tolist()

    def run() -> list[Tensor]:
        total = [torch.zeros_like(value) for value in initial]
        for client, own in enumerate(data.train_of):
            with torch.no_grad():
                torch._foreach_copy_(list(module.parameters()), initial)
            train(module, data, own, EPOCHS, BATCH, Seeds(0).generator("batches", 0, client))
            share = sizes[client] / sum(sizes)
            torch._foreach_add_(total, [p.detach() for p in module.parameters()], alpha=share)
        return total

    return run


def train(
    module: nn.Sequential,
    data: Federation,
    own: Tensor,
    epochs: int,
    batch_size: int,
    stream: torch.Generator,
) -> None:
    """Plain training on the images `own` with a fresh fused Adam."""
    assert data.train.labels is not None
    images, labels = data.train.images, data.train.labels
    steps = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE, fused=True)
    for _ in range(epochs):
        for batch in own[torch.randperm(len(own), generator=stream)].split(batch_size):
            x = images[batch].float().div_(255)
            steps.zero_grad(set_to_none=True)
            F.cross_entropy(module(x), labels[batch]).backward()
            steps.step()


def central_round(shape: Shape, data: Federation) -> Callable[[], None]:
    """The same image passes in batches of 256: the limit."""
    everything, module = torch.cat(data.train_of), shape.module()
    stream = torch.Generator().manual_seed(0)
    return lambda: train(module, data, everything, EPOCHS, BIG_BATCH, stream)
