"""The network in two modules that split methods need."""

from __future__ import annotations

from fedrepro.methods.federated.base import Task
from fedrepro.methods.nn.modular import ModularNetwork


def two_modules(task: Task) -> ModularNetwork:
    """The task's encoder: the clients' module, and the servers' rest.

    Raises `ValueError` if it is one piece.
    """
    network = task.model.encoder
    if not isinstance(network, ModularNetwork):
        raise ValueError("split training needs an encoder in two modules (encoder.modular)")
    return network
