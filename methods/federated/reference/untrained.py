"""Random weights, never trained: what every other method starts from.

A protocol measures on it what the architecture alone gives. Its encoder is that of FedAvg's first
model, so federated fine-tuning from it is FedAvg with few labels (fcl, Table 3, last row).
Evidence: `tests/methods/test_fine_tuning.py`.
"""

import torch

from ...metrics import Evaluation, collapse
from ...nn.classifier import ENCODER
from ...state import State, part
from ..base import Memory, Message, NoExchange, Round, Server, Task


class Untrained(NoExchange):
    """Of the options common to all methods only `rounds` has an effect, on time; 1 is enough."""

    def start(self, task: Task, attempt: int) -> Server:
        return part(task.new_model("model", attempt, 0), ENCODER)

    def local_update(self, now: Round, download: Message, memory: Memory) -> Message:
        return Message()

    @torch.no_grad()
    def evaluate(self, task: Task, server: Server, memory: Memory, final: bool) -> Evaluation:
        if not final:
            return Evaluation({})
        return collapse.evaluate(task.model.encoder, server, task.federation.test)

    def encoder(self, server: State) -> State:
        return server
