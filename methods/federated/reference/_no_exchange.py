"""Methods whose server neither sends nor receives anything."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedrepro.methods.federated.base import FederatedMethod, Message, Server, Task


@dataclass(frozen=True)
class NoExchange(FederatedMethod):
    """The server stays what it was before the first round; no bytes are counted."""

    def broadcast(self, task: Task, server: Server, t: int, clients: Tensor) -> Message:
        return Message()

    def aggregate(
        self, task: Task, server: Server, upload: Message, t: int, clients: Tensor
    ) -> Server:
        return server
