"""Flower's simulation engine (Ray) on one core: a client app that trains, FedAvg on the server."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from flwr.client import ClientApp, NumPyClient
from flwr.common import Context, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.simulation import run_simulation
from torch.utils.data import DataLoader, TensorDataset

from tests.benchmarks.peers.work import (
    BATCH,
    EPOCHS,
    LEARNING_RATE,
    Result,
    Work,
    processor_seconds,
)

_WORK: dict[tuple[str, int, int], Work] = {}


def _arrays(module: torch.nn.Module) -> list[Any]:
    return [value.detach().cpu().numpy() for value in module.state_dict().values()]


def _put(module: torch.nn.Module, arrays: list[Any]) -> None:
    names = module.state_dict().keys()
    module.load_state_dict(
        {name: torch.tensor(array) for name, array in zip(names, arrays, strict=True)}
    )


class _Client(NumPyClient):  # type: ignore[misc]
    def __init__(self, work: Work, number: int) -> None:
        self.work, self.number = work, number

    def fit(self, parameters: Any, config: Any) -> tuple[list[Any], int, dict[str, Any]]:
        torch.set_num_threads(1)
        module, data = self.work.module(), TensorDataset(*self.work.client(self.number))
        _put(module, parameters)
        optimizer = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
        loader = DataLoader(data, batch_size=BATCH, shuffle=True)
        for _ in range(EPOCHS):
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(module(x), y).backward()
                optimizer.step()
        return _arrays(module), len(data), {}


def train(work: Work) -> Result:
    key = (work.shape, work.clients, work.rounds)
    module = work.module()

    def client(context: Context) -> Any:
        # Made once in each of Ray's processes, as a dataset that is read from a disk would be.
        mine = _WORK.get(key) or _WORK.setdefault(key, Work(*key))
        return _Client(mine, int(context.node_config["partition-id"])).to_client()

    class Timed(FedAvg):  # type: ignore[misc]
        def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> Any:
            self.begun = processor_seconds()
            return super().configure_fit(server_round, parameters, client_manager)

        def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
            if failures:
                raise RuntimeError(f"{len(failures)} clients failed: {failures[0]}")
            found = super().aggregate_fit(server_round, results, failures)
            work.seconds.append(processor_seconds() - self.begun)
            _put(module, parameters_to_ndarrays(found[0]))
            return found

    def server(context: Context) -> Any:
        strategy = Timed(
            fraction_fit=1.0,
            fraction_evaluate=0.0,
            min_available_clients=work.clients,
            initial_parameters=ndarrays_to_parameters(_arrays(module)),
        )
        return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=work.rounds))

    run_simulation(
        server_app=ServerApp(server_fn=server),
        client_app=ClientApp(client_fn=client),
        num_supernodes=work.clients,
        backend_config={
            "init_args": {"num_cpus": 1},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
    return work.result(module)
