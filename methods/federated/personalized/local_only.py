"""Local-only training: every client trains a model of its own, and nothing is exchanged.

Paper: Calibre, Section V-A. Script-Convergent trains until convergence, Script-Fair for 10 epochs.
Unstated: what is trained (encoder and linear head, from the same random weights for everybody). The
text calls the model a linear classifier, but names no features for it.
Unstated: when training has converged. Each client trains in pieces of `epochs` epochs, each with a
fresh optimiser. It stops when the mean loss of a piece's last epoch falls by no more than a share
`tolerance`, or after `longest` epochs in all.
Evidence: `tests/methods/test_personalized.py`.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from ...state import State, put, take
from ..base import Memory, Message, Round, Server, Task
from ._personalized import Personalized


@dataclass(frozen=True)
class LocalOnly(Personalized):
    """epochs: passes over a client's images, of the only piece or of each one. `until_converged`:
    whether there are more pieces. `tolerance`, `longest`: see the module."""

    shared: ClassVar[tuple[str, ...]] = ()

    until_converged: bool = False
    epochs: int = 10
    tolerance: float = 0.01
    longest: int = 300

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        return Message()

    def aggregate(self, now: Round, server: Server, upload: Message) -> Server:
        return server

    def adapt(self, task: Task, server: Server, start: State) -> State:
        loss = self.local_loss(task, server)
        options = replace(self.local_options(0), epochs=self.epochs)
        clients = task.everyone
        models, before = start, torch.full((len(clients),), torch.inf)
        for piece in range(max(1, self.longest // self.epochs) if self.until_converged else 1):
            now = Round(task, piece, clients)
            trained = self.train(now, loss, take(models, clients), options=options)
            put(models, clients, trained.state)
            falling = trained.loss < (1 - self.tolerance) * before[clients]
            before[clients] = trained.loss
            clients = clients[falling]
            if len(clients) == 0:
                break
        return models
