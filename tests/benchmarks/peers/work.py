"""The work that every simulator does: rounds of FedAvg over clients with the same data and start.

All take every client, 50 images each, three local epochs in batches of 32 with a fresh Adam, and
the plain mean of the clients' weights. Each shuffles with its own stream, so weights differ between
simulators and only the accuracy reached can be compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from fedrepro.methods.data.federation import to_float
from tests.benchmarks.rounds import LEARNING_RATE, as_module
from tests.benchmarks.shapes import BATCH, EPOCHS, IMAGES, SHAPES, federation

__all__ = ["BATCH", "EPOCHS", "LEARNING_RATE", "Client", "Result", "Work", "processor_seconds"]

Client = tuple[Tensor, Tensor]


def processor_seconds() -> float:
    """What this process and all that it started have used (Linux); the ended ones count as well."""
    parents, used = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        fields = line.rpartition(")")[2].split()
        number = int(process.name)
        parents[number], used[number] = int(fields[1]), sum(map(int, fields[11:15]))
    family = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(used[number] for number in family) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Result:
    """seconds: processor time of every round. accuracy: of the last model on all images."""

    seconds: list[float]
    accuracy: float


@dataclass
class Work:
    """shape: a name of `SHAPES`. clients, rounds: how many; the first round warms up."""

    shape: str
    clients: int
    rounds: int
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data = federation(SHAPES[self.shape], [IMAGES] * self.clients)
        assert self.data.train.labels is not None
        self.images, self.labels = to_float(self.data.train.images), self.data.train.labels

    def client(self, number: int) -> Client:
        """Its images as floats, n x C x H x W, and labels."""
        own = self.data.train_of[number]
        return self.images[own], self.labels[own]

    def module(self) -> nn.Sequential:
        """A network with the initial weights."""
        shape = SHAPES[self.shape]
        return as_module(shape, shape.model().new(torch.Generator().manual_seed(0)))

    def round(self, run: Callable[[], object]) -> None:
        """Runs and times one round."""
        begun = processor_seconds()
        run()
        self.seconds.append(processor_seconds() - begun)

    @torch.no_grad()
    def result(self, module: nn.Module) -> Result:
        """The times, with the accuracy of the final model."""
        module.eval()
        right = module(self.images).argmax(dim=1) == self.labels
        return Result(self.seconds, float(right.double().mean()))
