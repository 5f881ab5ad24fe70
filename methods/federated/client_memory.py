"""What clients keep between rounds: a momentum encoder, a control variate, a bank of features.
Evidence: `tests/methods/test_states.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

import torch
from torch import Tensor

from ..state import State, put, take


@dataclass
class ClientMemory:
    """Fields that a method adds (tensors, states, `ClientStates`), stacked over ALL clients."""

    def tensors(self) -> Iterator[Tensor]:
        """All tensors in the fields."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, ClientMemory):
                yield from value.tensors()
            else:
                yield from value.values() if isinstance(value, dict) else (value,)


@dataclass
class ClientStates(ClientMemory):
    """One state for each client that has trained. `has_trained`: bool, clients. `state`: stacked
    over all, zeros before training; empty at first."""

    has_trained: Tensor
    state: State = field(default_factory=dict)

    @classmethod
    def of(cls, n_clients: int) -> ClientStates:
        """None of `n_clients` has trained."""
        return cls(torch.zeros(n_clients, dtype=torch.bool))

    def recall(self, clients: Tensor, otherwise: State) -> State:
        """The states of `clients` (int64), copied; without one, what `otherwise` has."""
        found = take(otherwise, range(len(clients)))
        known = self.has_trained[clients]
        if known.any():
            put(found, known.nonzero().flatten(), take(self.state, clients[known]))
        return found

    def remember(self, clients: Tensor, new: State) -> None:
        """Keeps the models of `new`, stacked over `clients` (int64), which have trained."""
        known = self.has_trained
        self.state = self.state or {
            name: value.new_zeros(len(known), *value.shape[1:]) for name, value in new.items()
        }
        put(self.state, clients, new)
        known[clients] = True
