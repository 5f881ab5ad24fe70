"""This engine: local training of all clients in one call, and the average."""

from __future__ import annotations

import torch

from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import weighted_average
from fedrepro.methods.training.local import train_clients
from fedrepro.methods.training.local_loss import LocalOptions
from tests.benchmarks.peers.work import BATCH, EPOCHS, LEARNING_RATE, Result, Work
from tests.benchmarks.rounds import as_module
from tests.benchmarks.shapes import SHAPES


def train(work: Work) -> Result:
    shape = SHAPES[work.shape]
    model = shape.model()
    state = model.new(torch.Generator().manual_seed(0))
    clients = torch.arange(work.clients)
    options = LocalOptions(EPOCHS, BATCH, LEARNING_RATE)
    weights = torch.ones(1, work.clients, dtype=torch.float64)

    def one_round() -> None:
        nonlocal state
        choice = torch.zeros_like(clients)
        trained = train_clients(
            model, state, choice, work.data, clients, options, Seeds(0), len(work.seconds)
        )
        state = weighted_average(trained, weights)

    for _ in range(work.rounds):
        work.round(one_round)
    return work.result(as_module(shape, state))
