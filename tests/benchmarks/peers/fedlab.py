"""FedLab: its serial trainer and synchronous server in one process, with Adam instead of SGD."""

from __future__ import annotations

from typing import Any

import torch
from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
from fedlab.contrib.algorithm.basic_server import SyncServerHandler
from torch.utils.data import DataLoader, TensorDataset

from tests.benchmarks.peers.work import BATCH, EPOCHS, LEARNING_RATE, Result, Work


class _Clients:
    def __init__(self, work: Work) -> None:
        self.sets = [TensorDataset(*work.client(i)) for i in range(work.clients)]

    def get_dataloader(self, number: int, batch_size: int) -> Any:
        return DataLoader(self.sets[number], batch_size=batch_size, shuffle=True)


class _AdamTrainer(SGDSerialClientTrainer):  # type: ignore[misc]
    def train(self, model_parameters: Any, train_loader: Any) -> Any:
        self.optimizer = torch.optim.Adam(self._model.parameters(), lr=self.lr)
        return super().train(model_parameters, train_loader)


def train(work: Work) -> Result:
    handler = SyncServerHandler(work.module(), work.rounds, 1.0)
    handler.num_clients = work.clients
    trainer = _AdamTrainer(work.module(), work.clients)
    trainer.setup_dataset(_Clients(work))
    trainer.setup_optim(EPOCHS, BATCH, LEARNING_RATE)

    def one_round() -> None:
        trainer.local_process(handler.downlink_package, handler.sample_clients())
        for package in trainer.uplink_package:
            handler.load(package)

    while not handler.if_stop:
        work.round(one_round)
    return work.result(handler.model)
