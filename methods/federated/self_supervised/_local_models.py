"""Clients that keep the model of their last training and start from a mixture with the global one.

FedU, FedEMA, FedRLC: the target network stays on the client between rounds (`keeps_target`), and a
rule mixes the received model with the client's own. Its first round starts from what it receives.

How far two models are apart, `distance`:
* `norm`: L2 norm over all trained weights of encoder and projector, the 'encoder' of the papers.
* `layers`: mean over their weight tensors (kernels; no biases or norms) of L2, whatever the depth.
* `convolutions`: the same over the encoder's convolutions alone, as in the code of Zhuang et al.
  (EasyFL, `applications/fedssl/client.py`, `_calculate_divergence`).
Deviation from that code: it measures how far a client moved in its last round. The distance here is
the papers': between the received model and the client's own.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from ...nn.layers import is_buffer
from ...state import State, part, put, take
from ..base import Memory, Message, Round, Task
from ..client_memory import ClientStates
from ._self_supervised import SelfSupervisedMemory, WithTarget


@dataclass
class LocalModelMemory(SelfSupervisedMemory):
    """online: the weights that each client trained last."""

    online: ClientStates = field(kw_only=True)


@dataclass(frozen=True)
class KeepsLocalModel(WithTarget):
    """A method of BYOL's kind whose clients remember their own online networks. `distance`: how far
    a client's own model is from the one it receives (module docstring)."""

    keeps_target: bool = True
    distance: Literal["norm", "layers", "convolutions"] = "norm"

    def objective_name(self) -> str:
        return "byol"

    def new_memory(self, task: Task) -> LocalModelMemory:
        n_clients = task.federation.n_clients
        return LocalModelMemory(ClientStates.of(n_clients), online=ClientStates.of(n_clients))

    @abstractmethod
    def merge(self, now: Round, received: State, own: State, memory: Memory) -> State:
        """Where participants start, from what they received and their own weights, both stacked."""

    def begin(self, now: Round, download: Message, memory: LocalModelMemory) -> State:
        received = super().begin(now, download, memory)
        known = memory.online.has_trained[now.clients].nonzero().flatten()
        if len(known):
            again = now.of(now.clients[known])
            own = take(memory.online.state, again.clients)
            put(received, known, self.merge(again, take(received, known), own, memory))
        return received

    def local_update(self, now: Round, download: Message, memory: LocalModelMemory) -> Message:
        upload = super().local_update(now, download, memory)
        memory.online.remember(now.clients, upload.per_client["weights"])
        return upload


def distance_of(method: KeepsLocalModel, a: State, b: State) -> Tensor:
    """The method's `distance` of stacked models, (models,)."""
    names = (*part(a, "encoder"), *part(a, "projector"))
    if method.distance == "norm":
        weights = (name for name in names if not is_buffer(name))
        squared = [(a[name] - b[name]).flatten(1).square().sum(1) for name in weights]
        return torch.stack(squared).sum(0).sqrt()
    if method.distance == "layers":
        kernels = [n for n in names if n.endswith(".weight") and a[n].dim() > 2]
    else:
        kernels = [n for n in part(a, "encoder") if a[n].dim() == 5]
    return torch.stack([(a[name] - b[name]).flatten(1).norm(dim=1) for name in kernels]).mean(0)


def mixed(own: State, received: State, share: Tensor) -> State:
    """share x own + (1 - share) x received, running statistics included; `share`: (models,)."""
    return {
        name: torch.lerp(value, own[name], share.reshape(-1, *[1] * (value.dim() - 1)))
        for name, value in received.items()
    }
