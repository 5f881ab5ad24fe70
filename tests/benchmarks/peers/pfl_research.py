"""apple/pfl-research: federated averaging on its simulated backend in one process."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn

from tests.benchmarks.peers.work import (
    BATCH,
    EPOCHS,
    LEARNING_RATE,
    Result,
    Work,
    processor_seconds,
)


class _Net(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.network(x)
        return logits

    def loss(self, x: Tensor, y: Tensor, eval: bool = False) -> Tensor:
        self.train(not eval)
        return F.cross_entropy(self(x), y)

    def metrics(self, x: Tensor, y: Tensor, eval: bool = False) -> dict[str, Any]:
        return {}


class _Clock(TrainingProcessCallback):  # type: ignore[misc]
    def __init__(self, work: Work) -> None:
        self.work, self.begun = work, processor_seconds()

    def after_central_iteration(
        self, aggregate_metrics: Any, model: Any, *, central_iteration: int
    ) -> tuple[bool, Any]:
        now = processor_seconds()
        self.work.seconds.append(now - self.begun)
        self.begun = now
        return False, Metrics()


def train(work: Work) -> Result:
    net = _Net(work.module())
    model = PyTorchModel(net, torch.optim.Adam, torch.optim.SGD(net.parameters(), lr=1.0))
    datasets = [Dataset(raw_data=list(work.client(i))) for i in range(work.clients)]
    # Everybody in turn, so that a cohort of this size holds every client once.
    turns = iter(range(work.clients * (work.rounds + 1)))
    everyone = FederatedDataset(
        make_dataset_fn=lambda user: datasets[user], user_sampler=lambda: next(turns) % work.clients
    )
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=work.rounds,
            evaluation_frequency=work.rounds + 1,
            train_cohort_size=work.clients,
            val_cohort_size=None,
        ),
        SimulatedBackend(training_data=everyone, val_data=None, postprocessors=[]),
        model,
        NNTrainHyperParams(
            local_num_epochs=EPOCHS, local_learning_rate=LEARNING_RATE, local_batch_size=BATCH
        ),
        callbacks=[_Clock(work)],
    )
    return work.result(net)
